"""An index over clips, measured with texts before it is trusted: Lance's inverted lists (Sivic & Zisserman, 2003).

    √N lists of clips around centres (k-means); a query reads the `probes` lists whose centres are nearest, and compares
    their clips as they are: no codes, so that what is read is ranked exactly

Words lie apart from pictures in an embedding (the gap between modalities: Liang et al., 2022). Graphs and short codes
that serve one picture's neighbours well fail for words (docs/scale.md has the numbers), and lists must be read in
plenty. Hence: asked with texts, against the exact answers,

    recall@100 = |found by the index ∩ the 100 nearest| / 100

`probes` is the least of a ladder that reaches .995 on one half of the texts; recall is what the other half says. Below
.99 there the index is not used, and the search stays exact.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from fabula.core.errors import FabulaError, InputError, SpecError
from fabula.core.notes import ignore
from fabula.documents.files import dump_json, load_json
from fabula.library.stage import COLUMNS, EXACT_BELOW, Floats, Hits, Ints, Track, keep_best
from fabula.library.store import SHIFT, Store, named_faults

if TYPE_CHECKING:
    from fabula.library.embedders.base import Embedder

FILE = "index.json"
VERSION = 1
KIND = "IVF_FLAT"
TOP = 100
WANTED, ENOUGH = 0.995, 0.99  # of the texts that choose, of the texts that judge
LADDER = (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)  # shares of the lists that are read
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
    recall: float  # of the texts that did not choose
    texts: int
    clips: int  # when it was built
    tried: tuple[dict[str, float], ...] = field(default=(), repr=False)

    @property
    def good(self) -> bool:
        return self.recall >= ENOUGH

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
    say: Callable[[str], None] = ignore,
) -> Plan:
    """Make the index, measure it with texts (or their `vectors`), and keep what was found beside the store."""
    if store.folder is None:
        raise SpecError("an index is built over a store in a folder; build it there and copy the folder")
    n = len(store)
    if n <= EXACT_BELOW:
        raise SpecError(f"{n:,} clips; up to {EXACT_BELOW:,} all are compared, and no index is quicker")
    from lancedb.index import BTree, IvfFlat

    queries = embed_tests(embedder, texts) if vectors is None else vectors
    lists = max(16, round(n**0.5))
    table = store.clips_table
    with store.writing(), named_faults(store.where):
        table.checkout_latest()
        say(f"an index of {lists:,} lists over {n:,} clips")
        how = IvfFlat(distance_type="cosine", num_partitions=lists, max_iterations=ROUNDS, sample_rate=DRAWN)
        table.create_index("vector", config=how, replace=True)
        table.create_index("clip", config=BTree(), replace=True)
        table.checkout_latest()
    say(f"the exact answers to {len(queries)} texts")
    truth = exact_answers(store, queries)
    plan = choose_plan(store, queries, truth, lists, say)
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


def read_blocks(store: Store) -> Iterator[tuple[Ints, Floats]]:
    """All clips, a block at a time: numbers and vectors."""
    with named_faults(store.where):
        for batch in store.clips_table.search().select(["clip", "vector"]).to_batches():
            flat = batch.column("vector").flatten().to_numpy(zero_copy_only=False)
            yield batch.column("clip").to_numpy(), flat.reshape(-1, store.dims)


def exact_answers(store: Store, queries: Floats) -> Ints:
    """The numbers of the TOP nearest clips of each query; the clips are never held at once. [Q, TOP]"""
    clips: list[Ints] = []
    rows, best = np.zeros((len(queries), 0), np.int64), np.zeros((len(queries), 0), np.float32)
    at = 0
    for clip, vector in read_blocks(store):
        clips.append(clip)
        rows, best = keep_best(rows, best, queries @ vector.T, at, TOP)
        at += len(clip)
    return np.concatenate(clips)[rows]


def choose_plan(store: Store, queries: Floats, truth: Ints, lists: int, say: Callable[[str], None]) -> Plan:
    """The first setting of the ladder that is good enough on every other query; what it does on the rest is said."""
    choose, judge = slice(0, None, 2), slice(1, None, 2)
    tried: list[dict[str, float]] = []
    table, n = store.manifest.tables["clips"], len(store)

    def plan(probes: int, recall: float) -> Plan:
        return Plan(table, KIND, lists, probes, recall, len(queries[judge]), n, tuple(tried))

    probes = 0
    for share in LADDER:
        probes = max(1, round(share * lists))
        recall, seconds = measure(store, plan(probes, 0.0), queries[choose], truth[choose])
        tried.append({"probes": probes, "recall": recall, "seconds": seconds})
        say(f"{probes:,} lists read: recall {recall:.4f}, {1000 * seconds:.0f} ms")
        if recall >= WANTED:
            break
    recall, _ = measure(store, plan(probes, 0.0), queries[judge], truth[judge])
    return plan(probes, recall)


def measure(store: Store, plan: Plan, queries: Floats, truth: Ints) -> tuple[float, float]:
    """Mean recall@TOP, and the median seconds of a query."""
    shares, clocks = [], []
    for q, right in zip(queries, truth, strict=True):
        began = time.perf_counter()
        found = search_table(store, plan, q, TOP)["clip"].to_numpy()
        clocks.append(time.perf_counter() - began)
        shares.append(len(np.intersect1d(found, right)) / len(right))
    return float(np.mean(shares)), float(np.median(clocks))


# ── asked ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def open_plan(store: Store) -> tuple[Plan | None, str]:
    """The plan of a store's index; or None, and why."""
    if store.folder is None or not (path := store.folder / FILE).is_file():
        return None, "no index is built: all are compared (fabula search --store DIR --build-index)"
    document = load_json(path)
    try:
        if document.pop("fabula-index") != VERSION:
            return None, "its index is of another version of Fabula: all are compared"
        plan = Plan(**{**document, "tried": tuple(document["tried"])})
    except (AttributeError, KeyError, TypeError):
        raise InputError("is not a plan of an index", file=path, hint="build the index again") from None
    if plan.table != store.manifest.tables["clips"] or not has_index(store):
        return None, "its index is of vectors made before: all are compared (build it again)"
    if not plan.good:
        return None, f"its index finds {plan.recall:.3f} of what is nearest to texts: all are compared"
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
