"""Which embedder, which cut, which tables: how a run over a store begins, and how vectors are made anew beside the old.

A re-embedding fills tables of its own while the old ones are searched. The manifest names both; at the end it is
written once more, with the new ones alone, and the old ones go. Killed in between, it is gone on with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fabula.core.errors import InputError
from fabula.core.notes import ignore
from fabula.documents.fields import JsonDict
from fabula.library import manifest as about
from fabula.library.embedders import embedder as parse_embedder
from fabula.library.embedders import rebuild
from fabula.library.embedders.base import Embedder
from fabula.library.index import check_root
from fabula.library.lance import find_engine
from fabula.library.lock import writer_lock
from fabula.library.manifest import Manifest
from fabula.library.options import DEFAULT, IndexOptions
from fabula.library.scan import Cut, Scanner
from fabula.library.store import (
    Store,
    check_new,
    import_lancedb,
    is_address,
    is_there,
    list_tables,
    make_tables,
    named_faults,
    read_manifest,
    write_manifest,
)
from fabula.library.walk import VideoFile, find_root, walk
from fabula.media.decode import import_av
from fabula.media.devices import place_adapter


def prepare(
    videos: str | Path, options: IndexOptions, warn: Callable[[str], None] = ignore
) -> tuple[Store, dict[str, VideoFile], Scanner]:
    """The store to be brought up to date, the videos that are there, and how they are looked at."""
    import_av()
    root = find_root(videos)
    found = walk(root, warn)  # a folder without videos makes no store
    where = options.store
    if find_engine() is None:
        import_lancedb()
    there = read_manifest(where) if is_there(where) else None
    now = there if there is None or not options.reembed else there.begun() or there
    embedder = choose_embedder(options, now)
    cut = choose_cut(options, now)
    recipe = {**embedder.recipe(), "clips": cut.recipe()}
    if there is None:
        store = create(where, recipe, root, embedder.weights)
    else:
        store = Store.open(where)
        if check_root(store, root, options.moved):
            move(store, root)
        if options.reembed:
            store = begin_anew(store, recipe, embedder.weights, warn)
        else:
            check_current(store, recipe)
    return store, found, Scanner(embedder, cut, not options.no_thumbs)


def choose_embedder(options: IndexOptions, there: Manifest | None) -> Embedder:
    """The one that was named; else that of the store."""
    weights = None if options.weights is None else str(options.weights)
    if options.with_ is None and there is not None:
        return place_adapter(rebuild(there.recipe, weights or there.weights, options.device))
    more = {} if weights is None else {"weights": weights}
    chosen = place_adapter(parse_embedder(options.with_ or DEFAULT, device=options.device, **more))
    return chosen if chosen.weights is None else replace(chosen, weights=str(Path(chosen.weights).absolute()))


def choose_cut(options: IndexOptions, there: Manifest | None) -> Cut:
    """As was said; what was not, as the store has it."""
    stored = {} if there is None else there.recipe.get("clips", {})
    old = Cut(**{name: float(stored[name]) for name in ("fps", "clip", "stride") if name in stored})
    clip = old.clip if options.clip is None else options.clip
    stride = options.stride or (clip if old.stride == old.clip else old.stride)
    return Cut(old.fps if options.fps is None else options.fps, clip, stride)


def create(where: str, recipe: JsonDict, root: Path, weights: str | None) -> Store:
    """A new store; or the one that another process has made in this moment."""
    folder = None if is_address(where) else Path(where)
    if folder is not None:
        try:
            check_new(folder)  # before a lock is put into a folder that is something else
        except InputError:
            if not is_there(where):
                raise
    with writer_lock(folder):
        if not is_there(where):
            return Store.create(where, recipe, root, weights)
    store = Store.open(where, recipe)
    check_root(store, root, False)
    return store


def check_current(store: Store, recipe: JsonDict) -> None:
    coming = store.manifest.begun()
    if coming is not None and coming.recipe == recipe != store.recipe:
        raise InputError(
            f"a store of {store.recipe.get('embedder')}, being made anew with {recipe.get('embedder')}",
            file=store.where,
            hint="use --reembed to continue",
        )
    about.check_recipe(store.recipe, recipe, store.where)


def move(store: Store, root: Path) -> None:
    with writer_lock(store.folder):
        write_manifest(store.where, replace(read_manifest(store.where), root=str(root)), store.base)
    store.check_generation()


# ── vectors made anew ───────────────────────────────────────────────────────────────────────────────────────────────


def begin_anew(store: Store, recipe: JsonDict, weights: str | None, warn: Callable[[str], None]) -> Store:
    """The tables of the next generation, those of an earlier run with this recipe where there are."""
    with writer_lock(store.folder):
        now = read_manifest(store.where)
        coming = now.begun()
        if coming is None or coming.recipe != recipe:
            if coming is not None:
                warn(f"{store.where}: the vectors computed with {coming.recipe.get('embedder')} so far are discarded")
            number = 1 + max(generation(one) for one in (now, coming or now))
            tables = {name: f"{name}_{number}" for name in ("clips", "videos")}
            coming = replace(now, recipe=recipe, weights=weights, tables=tables, next=None)
            with named_faults(store.where):
                make_tables(store.base, coming)
            updated = replace(now, next={"recipe": recipe, "weights": weights, "tables": tables})
            write_manifest(store.where, updated, store.base)
            sweep(store, updated)
    return Store(store.where, coming)


def take_over(store: Store) -> None:
    """The generation that was made becomes the store; the old one goes."""
    with writer_lock(store.folder):
        now = read_manifest(store.where)
        coming = now.begun()
        if coming is not None and coming.tables == store.manifest.tables:
            write_manifest(store.where, coming, store.base)
            now = coming
        sweep(store, now)
    store.check_generation()


def sweep(store: Store, now: Manifest) -> None:
    """Tables that no manifest names go."""
    named = {*now.tables.values(), *(now.next or {}).get("tables", {}).values(), about.TABLE}
    for name in list_tables(store.where, store.base):
        if name not in named:
            with named_faults(store.where):
                store.base.drop_table(name, ignore_missing=True)


def generation(manifest: Manifest) -> int:
    return int(manifest.tables["clips"].partition("_")[2] or 1)
