"""An index over clips, for those who accept that clips are missed: Lance's inverted lists (Sivic & Zisserman, 2003).

    √N lists of clips around centres (k-means); a query reads the `probes` lists whose centres are nearest, and compares
    their clips as they are: no codes, so that what is read is ranked exactly

Words lie apart from pictures in an embedding (the gap between modalities: Liang et al., 2022): with words, the lists
that hold the nearest clips are not the nearest lists (docs/scale.md has the numbers). The exact search (nearest.py)
misses nothing and needs no index; one is built only where it is asked for. How much it misses is measured with texts,

    recall@100 = |found by the index ∩ the 100 nearest| / 100

and said with every answer. A store whose index is built is asked through it; without index.json all are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from fabula.core.errors import FabulaError, InputError, SpecError
from fabula.core.notes import ignore
from fabula.documents.files import dump_json, load_json
from fabula.library.nearest import Floats
from fabula.library.stage import IN_MEMORY, Exact, Hits, Track
from fabula.library.store import COLUMNS, SHIFT, Store, named_faults

if TYPE_CHECKING:
    from fabula.library.embedders.base import Embedder

FILE = "index.json"
VERSION = 1
KIND = "IVF_FLAT"
TOP = 100
SHARE = 0.2  # of the lists is read where nobody says how many
ENOUGH = 0.99  # recall of an index that an earlier version built, which promised as much
ROUNDS, DRAWN = 20, 64  # of k-means, clips a list it is given: words read most lists, so better lists gain little
AROUND = 64  # clips before and behind a hit that are read to find where its moment ends
RANGES = 400  # stretches that are read at once
FEWEST = 40  # texts

WHO = (
    "a man", "a woman", "two children", "a dog", "a cat on a chair", "people in a crowd", "a red car", "a band",
    "somebody in a kitchen", "a player", "a bird", "a boat", "hands", "an old building", "a worker", "a horse",
)  # fmt: skip
WHAT = (
    "running", "by the sea", "at night", "in the snow", "cutting vegetables", "playing a guitar", "jumping",
    "seen from above", "talking to the camera", "next to a tree", "falling down", "in a garden", "with a ball",
    "close to a window", "moving slowly", "and a bicycle",
)  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """How an index is asked, and how well it did."""

    table: str  # of the clips it was built over
    kind: str
    lists: int
    probes: int
    recall: float
    texts: int  # that it was measured with
    clips: int  # when it was built
    tried: tuple[dict[str, float], ...] = field(default=(), repr=False)  # settings that an earlier version measured

    @property
    def good(self) -> bool:
        """Whether it is asked: whoever says how many lists are read accepts what they find."""
        return not self.tried or self.recall >= ENOUGH

    def __str__(self) -> str:
        return (
            f"an index of {self.lists:,} lists, {self.probes:,} of them read; "
            f"recall@{TOP} {self.recall:.4f} with {self.texts} texts"
        )


def test_texts() -> list[str]:
    """Plain things that people ask for, made of parts; in an order that mixes them."""
    pairs = [f"{who} {what}" for who, what in product(WHO, WHAT)]
    return [pairs[(i * 101) % len(pairs)] for i in range(len(pairs))]


# ── built ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def build(
    store: Store,
    embedder: Embedder | None,
    texts: Sequence[str] | None = None,
    *,
    vectors: Floats | None = None,
    probes: int | None = None,
    say: Callable[[str], None] = ignore,
) -> Plan:
    """Make the index, measure it with texts (or their `vectors`), and keep what was found beside the store."""
    if store.folder is None:
        raise SpecError("an index is built over a store in a folder; build it there and copy the folder")
    n = len(store)
    if n <= IN_MEMORY:
        raise SpecError(f"{n:,} clips; up to {IN_MEMORY:,} all are compared, and no index is quicker")
    lists = max(16, round(n**0.5))
    if probes is not None and not 1 <= probes <= lists:
        raise SpecError(f"--probes {probes}; the index has {lists:,} lists, of which 1 to {lists:,} are read")
    from lancedb.index import BTree, IvfFlat

    queries = embed_tests(embedder, texts) if vectors is None else vectors
    table = store.clips_table
    with store.writing(), named_faults(store.where):
        table.checkout_latest()
        say(f"an index of {lists:,} lists over {n:,} clips")
        how = IvfFlat(distance_type="cosine", num_partitions=lists, max_iterations=ROUNDS, sample_rate=DRAWN)
        table.create_index("vector", config=how, replace=True)
        table.create_index("clip", config=BTree(), replace=True)
        table.checkout_latest()
    say(f"the exact answers to {len(queries)} texts")
    read = max(1, round(SHARE * lists)) if probes is None else probes
    plan = Plan(store.manifest.tables["clips"], KIND, lists, read, 0.0, len(queries), n)
    plan = replace(plan, recall=measure(store, plan, queries))
    dump_json(store.folder / FILE, {"fabula-index": VERSION, **asdict(plan)}, indent=2)
    return plan


def embed_tests(embedder: Embedder | None, texts: Sequence[str] | None) -> Floats:
    """Vectors of texts that the embedder knows something of. [Q, D]"""
    assert embedder is not None
    vectors = embedder.texts(list(texts) if texts is not None else test_texts())
    vectors = vectors[vectors.any(axis=1)]
    if len(vectors) < FEWEST:
        raise SpecError(
            f"{embedder.name} knows {len(vectors)} of the texts; an index is measured with {FEWEST}: --queries FILE"
        )
    return vectors


def measure(store: Store, plan: Plan, queries: Floats) -> float:
    """Mean recall@TOP against all clips compared."""
    exact = Exact.of(store)
    shares = []
    for q in queries:
        found, right = search_table(store, plan, q, TOP)["clip"].to_numpy(), exact.top(q, TOP).clip
        shares.append(len(np.intersect1d(found, right)) / len(right))
    return float(np.mean(shares))


# ── asked ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def open_plan(store: Store) -> tuple[Plan | None, str]:
    """The plan of a store's index; or None, and why it is not asked where there is one."""
    if store.folder is None or not (path := store.folder / FILE).is_file():
        return None, ""
    document = load_json(path)
    try:
        if document.pop("fabula-index") != VERSION:
            return None, "its index is of another version of Fabula"
        plan = Plan(**{**document, "tried": tuple(document["tried"])})
    except (AttributeError, KeyError, TypeError):
        raise InputError("is not a plan of an index", file=path, hint="build the index again") from None
    if plan.table != store.manifest.tables["clips"] or not has_index(store):
        return None, "its index is of vectors made before (build it again)"
    if not plan.good:
        return None, f"its index finds {plan.recall:.3f} of what is nearest to texts"
    return plan, ""


def has_index(store: Store) -> bool:
    with named_faults(store.where):
        return any("vector" in one.columns for one in store.clips_table.list_indices())


def search_table(store: Store, plan: Plan, q: Floats, k: int) -> Any:
    with named_faults(store.where):
        query = store.clips_table.search(q, vector_column_name="vector").distance_type("cosine")
        query = query.nprobes(plan.probes)
        return query.select(["clip", "video", "_distance"]).limit(k).to_arrow()


def ask(store: Store, plan: Plan, q: Floats, k: int) -> Hits:
    """The nearest clips by the index; rows that are newer than it are compared one by one, by Lance itself."""
    table = search_table(store, plan, q, k)
    known = {video.video for video in store.videos()}
    clip, score = table["clip"].to_numpy(), 1 - table["_distance"].to_numpy()
    videos = table["video"].to_pylist()
    positions = [i for i, video in enumerate(videos) if video in known]
    return Hits(clip[positions], [videos[i] for i in positions], score[positions].astype(np.float32))


def around(store: Store, hits: Hits, videos: Sequence[str]) -> Iterator[Track]:
    """The stretches of clips around hits in these videos."""
    wanted = set(videos)
    ranges: list[list[int]] = []
    at = [int(c) for c, video in zip(hits.clip.tolist(), hits.video, strict=True) if video in wanted][:RANGES]
    for clip in sorted(at):
        number, k = clip >> SHIFT, clip & ((1 << SHIFT) - 1)
        first = (number << SHIFT) + max(0, k - AROUND)
        last = (number << SHIFT) + min((1 << SHIFT) - 1, k + AROUND)
        if ranges and first <= ranges[-1][1] + 1 and ranges[-1][1] >> SHIFT == number:
            ranges[-1][1] = last
        else:
            ranges.append([first, last])
    if not ranges:
        return
    where = " OR ".join(f"(clip >= {first} AND clip <= {last})" for first, last in ranges)
    with named_faults(store.where):
        table = store.clips_table.search().where(where).select([*COLUMNS, "vector"]).to_arrow().sort_by("clip")
    clip = table["clip"].to_numpy()
    names = table["video"].to_pylist()
    start, end = table["start"].to_numpy(), table["end"].to_numpy()
    vector = table["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False).reshape(-1, store.dims)
    for first, last in ranges:
        i, j = np.searchsorted(clip, [first, last + 1])
        if i < j and names[i] in wanted:
            yield Track(names[i], clip[i:j], vector[i:j], start[i:j], end[i:j])


def sample(store: Store, n: int) -> Floats:
    """Clips at even steps of the table. [≤ n, D]"""
    with named_faults(store.where):
        count = store.clips_table.count_rows()
        offsets = list(range(0, count, max(1, count // n)))[:n]
        batch = store.clips_table.take_offsets(offsets).select(["vector"]).to_arrow()
    if batch.num_rows != len(offsets):
        raise FabulaError("the store changed while it was read; ask again")
    vectors: Floats = batch["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False).reshape(-1, store.dims)
    return vectors
