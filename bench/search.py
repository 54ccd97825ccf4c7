"""The vector stage: recall with text queries, latency and bytes, as a store grows to a million clips.

    python bench/search.py --gap --store STORE --texts captions.jsonl      # the gap between words and clips, measured
    python bench/search.py --clips 10000 100000 1000000 --texts captions.jsonl --work /tmp/search

Clips are simulated, queries are not. A clip is made as the embedder `offline` makes one (library/embedders/offline.py),
of class probabilities that are drawn instead of seen: logits of a video and of each of its clips, with the sharpness
that `--gap` measures on real frames; so simulated clips lie as far from real captions as real clips do, and `--gap`
prints both. Captions are read from a file of moments (VERIFIED's, say) and embedded by MiniLM.

Recall@100 is against all clips compared by numpy. The setting is chosen with half of 256 texts of ours
(library/ann.py), and recall quoted on captions that chose nothing. Processor threads as the environment says.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.library import ann
from fabula.library.embedders import embedder
from fabula.library.embedders.base import unit
from fabula.library.embedders.offline import class_vectors, find_names
from fabula.library.find import Searcher
from fabula.library.queries import read_queries_file
from fabula.library.stage import Exact, top_rows
from fabula.library.store import Entry, Store, Video, clip_rows, video_rows

Floats = NDArray[np.float32]
LENGTH = 100  # clips of a video
STEP = 2.0  # seconds of a clip
VIDEO_SPREAD, CLIP_SPREAD = 1.6, 1.1  # of logits: chosen so that --gap prints alike numbers for real and simulated


def e() -> Floats:
    from fabula.media.base import stamp

    return class_vectors(*stamp(find_names()))


def simulate(rng: np.random.Generator, videos: int, length: int = LENGTH, sharp: float = 1.0) -> Floats:
    """Clips of some videos, one after another. [videos · length, 384]"""
    classes = e()
    z = np.repeat(rng.normal(size=(videos, len(classes))) * VIDEO_SPREAD, length, axis=0).astype(np.float32)
    z += rng.normal(size=z.shape).astype(np.float32) * CLIP_SPREAD
    z *= sharp * 1.5
    p = np.exp(z - z.max(1, keepdims=True))
    return unit((p / p.sum(1, keepdims=True)) @ classes)


def texts_of(path: Path, most: int) -> Floats:
    said = list(dict.fromkeys(one.text for one in read_queries_file(path, pictures=False)))
    rng = np.random.default_rng(7)
    return embedder("offline").texts([said[i] for i in rng.permutation(len(said))[:most]])


def describe_gap(clips: Floats, texts: Floats) -> dict[str, float]:
    """How far words lie from clips, and how each lies among its like."""
    cross, own = clips[:4000] @ texts.T, clips[:4000] @ clips[:4000].T
    return {
        "distance of the means": float(np.linalg.norm(clips.mean(0) - texts.mean(0))),
        "cos text-clip, mean": float(cross.mean()),
        "cos text-clip, spread": float(cross.std()),
        "cos clip-clip, mean": float(own.mean()),
        "cos text-text, mean": float((texts @ texts.T).mean()),
    }


def gap(arguments: argparse.Namespace) -> None:
    texts = texts_of(arguments.texts, 1000)
    real = Store.open(arguments.store).vectors().vector
    made = simulate(np.random.default_rng(0), 40)
    rows = describe_gap(real, texts), describe_gap(made, texts)
    print(f"{'':28}{'real':>10}{'simulated':>12}   {len(real)} clips, {len(texts)} captions")
    for name in rows[0]:
        print(f"{name:28}{rows[0][name]:10.3f}{rows[1][name]:12.3f}")


def make_store(where: Path, clips: int) -> Store:
    """A store of simulated clips, without pictures."""
    shutil.rmtree(where, ignore_errors=True)
    where.parent.mkdir(parents=True, exist_ok=True)
    recipe = {**embedder("offline").recipe(), "simulated": True}
    store = Store.create(where, recipe, root=where.parent)
    rng = np.random.default_rng(clips)
    number = 0
    while number * LENGTH < clips:
        some = min(100, -(-(clips - number * LENGTH) // LENGTH))
        vectors = simulate(rng, some)
        entries = []
        for k in range(some):
            start = np.arange(LENGTH) * STEP
            seen = Video(f"v{number + k:07d}.mp4", number + k, 1, 1, "0", LENGTH * STEP, 25.0, LENGTH)
            rows = vectors[k * LENGTH : (k + 1) * LENGTH]
            entries.append(Entry(seen, start, start + STEP, rows, [None] * LENGTH))
        store.clips_table.add(clip_rows(entries, [one.video.number for one in entries], store.dims))
        store.videos_table.add(video_rows([one.video for one in entries]))
        number += some
    store.clips_table.optimize()
    store.videos_table.optimize()
    return store


def clocked(call: Any, many: int) -> NDArray[np.float64]:
    """Seconds of each of so many calls."""
    out = []
    for n in range(many):
        began = time.perf_counter()
        call(n)
        out.append(time.perf_counter() - began)
    return np.array(out)


def percentiles(seconds: NDArray[np.float64]) -> str:
    p50, p99 = np.percentile(seconds, [50, 99]) * 1000
    return f"p50 {p50:.1f} ms, p99 {p99:.1f} ms"


def folder_size(where: Path) -> int:
    return sum(f.stat().st_size for f in where.rglob("*") if f.is_file())


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def measure(arguments: argparse.Namespace, clips: int) -> None:
    where = arguments.work / f"store-{clips}"
    began = time.perf_counter()
    store = Store.open(where) if arguments.keep and where.exists() else make_store(where, clips)
    print(
        f"\n{clips:,} clips; written in {time.perf_counter() - began:.0f} s, {folder_size(where) / 1e6:,.0f} MB",
        flush=True,
    )
    texts = texts_of(arguments.texts, arguments.queries)
    truth = ann.exact_answers(store, texts)
    if (clips > ann.EXACT_BELOW or arguments.index) and not arguments.no_index:
        measure_index(store, where, texts, truth, arguments.built)
    if not arguments.no_exact:
        measure_exact(store, texts, truth)
    print(f"peak memory of all this {peak():.2f} GB", flush=True)


def measure_exact(store: Store, texts: Floats, truth: NDArray[np.int64]) -> None:
    exact = Exact.of(store)
    M = exact.clips.vector
    found = np.stack([exact.top(q, 100).clip for q in texts])
    same = np.mean([len(np.intersect1d(a, b)) / len(b) for a, b in zip(found, truth, strict=True)])
    pairs = [(clocked(lambda _, q=q: exact.top(q, 100), 1), clocked(lambda _, q=q: M @ q, 1)) for q in texts]
    one, product = (np.concatenate(some) for some in zip(*pairs, strict=True))  # by turns: the machine's load is alike
    print(f"exact: recall@100 {same:.4f}; one query {percentiles(one)}")
    print(f"exact: {np.median(one) / np.median(product):.2f} × numpy's product of one query ({percentiles(product)})")
    batch = texts[:64]
    pairs = [(clocked(lambda _: top_rows(M, batch, 100), 1), clocked(lambda _: batch @ M.T, 1)) for _ in range(5)]
    many, plain = (np.concatenate(some) for some in zip(*pairs, strict=True))
    times = np.median(many) / np.median(plain)
    print(f"exact: 64 queries at once {times:.2f} × numpy's product ({1000 * np.median(plain):.0f} ms)")
    whole = Searcher(store, Given(texts))
    spent = clocked(lambda n: whole.find(f"q{n}"), len(texts))
    print(
        f"search, from words that are embedded to 20 moments: {percentiles(spent)}, {whole.stage()[1].stage}",
        flush=True,
    )


def measure_index(store: Store, where: Path, texts: Floats, truth: NDArray[np.int64], built: bool) -> None:
    before, began = folder_size(where), time.perf_counter()
    limit, ann.EXACT_BELOW = ann.EXACT_BELOW, 0
    plan = ann.open_plan(store)[0] if built else None
    if plan is None:
        plan = ann.build(store, embedder("offline"), say=lambda line: print("  ", line, flush=True))
    ann.EXACT_BELOW = limit
    more = (folder_size(where) - before) / 1e6
    print(f"index: built and measured in {time.perf_counter() - began:.0f} s, {more:,.0f} MB more")
    print(f"index: {plan}; good: {plan.good}")
    found = [ann.search_table(store, plan, q, 100)["clip"].to_numpy() for q in texts]
    shares = np.array([len(np.intersect1d(a, b)) / len(b) for a, b in zip(found, truth, strict=True)])
    print(
        f"index: recall@100 {shares.mean():.4f} with {len(texts)} captions that chose nothing; least {shares.min():.2f}"
    )
    spent = clocked(lambda n: ann.search_table(store, plan, texts[n], 100), len(texts))
    print(f"index: one query {percentiles(spent)}; memory so far {peak():.2f} GB")
    if len(store) > limit:
        whole = Searcher(store, Given(texts))
        whole.find("q0")
        spent = clocked(lambda n: whole.find(f"q{n}"), len(texts))
        print(f"search by the index, to 20 moments: {percentiles(spent)}; memory so far {peak():.2f} GB", flush=True)


class Given:
    """An embedder whose texts q0, q1, … are embedded already."""

    name, weak = "given", None

    def __init__(self, texts: Floats) -> None:
        self.made = texts

    def texts(self, texts: list[str]) -> Floats:
        return self.made[[int(text[1:]) for text in texts]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--gap", action="store_true")
    parser.add_argument("--store", type=Path)
    parser.add_argument("--texts", type=Path, help="File of moments whose captions are the queries.")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--clips", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--work", type=Path, default=Path("/tmp/fabula-search"))
    parser.add_argument("--keep", action="store_true", help="Use a store that is there.")
    parser.add_argument("--index", action="store_true", help="Build the index below 100,000 clips too.")
    parser.add_argument("--built", action="store_true", help="With --keep: use the index that is there.")
    parser.add_argument("--no-index", action="store_true")
    parser.add_argument("--no-exact", action="store_true")
    arguments = parser.parse_args()
    print(f"threads: {os.environ.get('OMP_NUM_THREADS', 'all')}; load {os.getloadavg()[0]:.1f}")
    if arguments.gap:
        return gap(arguments)
    for clips in arguments.clips:
        measure(arguments, clips)
    return None


if __name__ == "__main__":
    main()
