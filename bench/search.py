"""The vector stage: the exact list from codes beside numpy, faiss and usearch, as a library grows to a million clips.

    python bench/search.py                            # 10,000, 100,000 and 1,000,000 clips, one thread
    python bench/search.py --threads 2 --beside /tmp/venv/lib/python3.11/site-packages     # where faiss, usearch are
    python bench/search.py --whole 200000             # a store: files made and mapped, whole searches, memory
    python bench/search.py --gap --store STORE --texts captions.jsonl      # the gap between words and clips, measured

Clips are simulated, queries are not. A clip is made as the embedder `offline` makes one (library/embedders/offline.py),
of class probabilities that are drawn instead of seen: logits of a video and of each of its clips, with the sharpness
that `--gap` measures on real frames; so simulated clips lie as far from real captions as real clips do, and `--gap`
prints both. All clips differ. Queries are texts embedded by MiniLM: 256 plain ones, or the captions of --texts.

Recall@100 and equal lists are against all products by numpy, the best 300 of them once more in double. All are asked by
turns in one process with so many threads each, so that the load of the machine is alike; processor time is of all
threads. numpy is its product and the selection of 100 by a partition.
"""

from __future__ import annotations

import argparse
import importlib
import os
import resource
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from fabula.library import ann
from fabula.library.embedders import embedder
from fabula.library.embedders.base import unit
from fabula.library.embedders.offline import class_vectors, find_names
from fabula.library.find import Searcher
from fabula.library.mapped import FOLDER
from fabula.library.nearest import encode, exact_products, nearest
from fabula.library.queries import read_queries_file
from fabula.library.stage import Choice, Exact
from fabula.library.store import Entry, Store, Video, clip_rows, video_rows

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
LENGTH = 100  # clips of a video
STEP = 2.0  # seconds of a clip
VIDEO_SPREAD, CLIP_SPREAD = 1.6, 1.1  # of logits: chosen so that --gap prints alike numbers for real and simulated
TOP, BORDER = 100, 300
HNSW_UP_TO = 10_000  # clips: a graph of 100,000 takes a minute to build


def e() -> Floats:
    from fabula.media.base import stamp

    return class_vectors(*stamp(find_names()))


def simulate(rng: np.random.Generator, videos: int, length: int = LENGTH, sharp: float = 1.0) -> Floats:
    """Clips of some videos, one after another. [videos · length, 384]"""
    classes = e()
    z = rng.standard_normal((videos, length, len(classes)), dtype=np.float32)
    z *= CLIP_SPREAD * sharp * 1.5
    z += rng.standard_normal((videos, 1, len(classes)), dtype=np.float32) * (VIDEO_SPREAD * sharp * 1.5)
    z -= z.max(2, keepdims=True)
    np.exp(z, out=z)
    p = z.reshape(videos * length, len(classes))
    p /= p.sum(1, keepdims=True)
    return unit(p @ classes)


def simulate_many(clips: int, seed: int) -> Floats:
    """So many clips, all different, in blocks that fit into a cache."""
    rng, out, at = np.random.default_rng(seed), np.empty((clips, e().shape[1]), np.float32), 0
    while at < clips:
        some = simulate(rng, 20)[: clips - at]
        out[at : at + len(some)] = some
        at += len(some)
    return out


def texts_of(path: Path | None, most: int) -> Floats:
    if path is None:
        return embedder("offline").texts(ann.test_texts()[:most])
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


class Clock:
    """Milliseconds of calls, by the wall and of the processor."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.used: list[float] = []

    def __call__(self, call: Callable[[], object]) -> object:
        began, used = time.perf_counter(), time.process_time()
        out = call()
        self.used.append(1000 * (time.process_time() - used))
        self.wall.append(1000 * (time.perf_counter() - began))
        return out

    def __str__(self) -> str:
        p50, p99 = np.percentile(self.wall, [50, 99])
        used = f"processor p50 {np.median(self.used):8.2f}  least {min(self.used):8.2f}"
        return f"wall p50 {p50:8.2f}  p99 {p99:8.2f}   {used}"


def by_numpy(matrix: Floats, q: Floats, k: int = TOP) -> Ints:
    """All products, the k largest by a partition, sorted."""
    s = matrix @ q
    k = min(k, len(s))
    at = np.argpartition(s, len(s) - k)[len(s) - k :]
    return at[np.lexsort((at, -s[at]))]


def in_double(matrix: Floats, q: Floats) -> Ints:
    """The nearest in double: those of numpy's best, many more than are asked for."""
    at = np.sort(by_numpy(matrix, q, BORDER))
    return at[np.lexsort((at, -exact_products(matrix, q, at)))][:TOP]


def optional(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"{name} is not installed: left out (pip install faiss-cpu usearch; --beside DIR)")
        return None


def others(matrix: Floats, threads: int) -> dict[str, Callable[[Floats], Ints]]:
    """What faiss and usearch answer, where they are there."""
    out: dict[str, Callable[[Floats], Ints]] = {}
    if (faiss := optional("faiss")) is not None:
        faiss.omp_set_num_threads(threads)
        flat = faiss.IndexFlatIP(matrix.shape[1])
        flat.add(matrix)
        out["faiss flat"] = lambda q: flat.search(q[None], TOP)[1][0]
    if (usearch := optional("usearch.index")) is not None:
        kind = usearch.MetricKind.IP
        out["usearch exact"] = lambda q: usearch.search(matrix, q, TOP, kind, exact=True, threads=threads).keys
        if len(matrix) <= HNSW_UP_TO:
            graph = usearch.Index(ndim=matrix.shape[1], metric="ip", dtype="f16", expansion_search=800)
            graph.add(np.arange(len(matrix)), matrix, threads=threads)
            out["usearch graph, ef 800"] = lambda q: graph.search(q, TOP, threads=threads).keys
    return out


def measure(clips: int, queries: Floats, threads: int) -> None:
    began = time.perf_counter()
    matrix = simulate_many(clips, clips)
    drawn = time.perf_counter() - began
    clock = Clock()
    codes = clock(lambda: encode(matrix))
    ways: dict[str, Callable[[Floats], Ints]] = {
        "numpy": lambda q: by_numpy(matrix, q),
        "fabula": lambda q: nearest(codes, matrix, q, TOP).row,
        **others(matrix, threads),
    }
    small = sum(part.nbytes for part in (codes.code, codes.scale, codes.error))
    print(
        f"\n{clips:,} clips, {len(queries)} texts, {threads} threads (drawn in {drawn:.0f} s; codes made in "
        f"{clock.wall[0]:.0f} ms, processor {clock.used[0]:.0f} ms)"
    )
    print(
        f"memory: codes {small / 1e6:,.1f} MB, float32 rows {matrix.nbytes / 1e6:,.1f} MB: {small / matrix.nbytes:.3f}"
    )
    clocks = {name: Clock() for name in ways}
    shares: dict[str, list[float]] = {name: [] for name in ways}
    same, compared, product = 0, [], Clock()
    for way in ways.values():  # what is read for the first time is slower
        way(queries[0])
    for q in queries:
        right = in_double(matrix, q)
        product(lambda q=q: matrix @ q)
        for name, way in ways.items():
            found = np.asarray(clocks[name](lambda way=way, q=q: way(q)))
            shares[name].append(len(np.intersect1d(found, right)) / len(right))
            same += name == "fabula" and found.tolist() == right.tolist()
        compared.append(nearest(codes, matrix, q, TOP).compared)
    for name, spent in clocks.items():
        print(f"{name:22} recall@{TOP} {np.mean(shares[name]):.4f}  ms: {spent}")
    print(f"{'numpy, product alone':22} {'':17} ms: {product}")
    plain, ours = clocks["numpy"], clocks["fabula"]
    print(
        f"fabula: {same} of {len(queries)} lists equal, in order; certified; compared as they are: "
        f"median {np.median(compared):.0f}, most {max(compared)} of {clips:,}"
    )
    for name, spent in (("numpy", plain), ("numpy's product alone", product)):
        wall, used = np.median(spent.wall) / np.median(ours.wall), np.median(spent.used) / np.median(ours.used)
        least = min(spent.used) / min(ours.used)
        print(f"fabula over {name}: {wall:.1f} × by the wall, {used:.1f} × of the processor, {least:.1f} × at best")
    sys.stdout.flush()


# ── a whole store ───────────────────────────────────────────────────────────────────────────────────────────────────


def resident() -> str:
    """Memory of this process: its own, and that of mapped files, which the system takes back where it needs it."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    own, files = (int(lines[name].split()[0]) / 1e3 for name in ("RssAnon", "RssFile"))
    return f"{own:,.0f} MB of its own, {files:,.0f} MB of files"


def measure_store(where: Path, clips: int, queries: Floats) -> None:
    began = time.perf_counter()
    store = Store.open(where) if where.exists() else make_store(where, clips)
    print(f"\nstore of {clips:,} clips: {time.perf_counter() - began:.1f} s; {resident()}")
    for _ in range(2):
        what = "files mapped" if (where / FOLDER).exists() else "files made and mapped"
        began, used = time.perf_counter(), time.process_time()
        stage = Exact.of(store := Store.open(where))
        wall, used = time.perf_counter() - began, time.process_time() - used
        began = time.perf_counter()
        stage.top(queries[0], TOP)
        print(f"{what}: {wall:.2f} s, processor {used:.2f} s; first list {1000 * (time.perf_counter() - began):.1f} ms")
    scan, whole = Clock(), Clock()
    searcher = Searcher(store, Given(queries))
    searcher.chosen = (store.version, stage, Choice("exact", ""))
    for n, q in enumerate(queries):
        scan(lambda q=q: stage.top(q, 200))
        whole(lambda n=n: searcher.find(f"q{n}"))
    print(f"200 clips     ms: {scan}\n20 moments    ms: {whole}\n{resident()}")
    size = sum(f.stat().st_size for f in where.rglob("*") if f.is_file())
    files = sum(f.stat().st_size for f in (where / FOLDER).rglob("*") if f.is_file())
    print(f"disk: {size / 1e6:,.0f} MB, of them mapped files {files / 1e6:,.0f} MB; peak memory {peak():.2f} GB")


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


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
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--clips", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--quick", action="store_true", help="Up to 100,000 clips.")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--beside", help="Folder of packages where faiss and usearch are.")
    parser.add_argument("--whole", type=int, help="A store of so many clips instead.")
    parser.add_argument("--work", type=Path, default=Path("/tmp/fabula-search"))
    arguments = parser.parse_args()
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "FABULA_THREADS")
    wanted = {name: str(arguments.threads) for name in names}
    if any(os.environ.get(name) != value for name, value in wanted.items()):  # read when numpy is imported
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **wanted})
    if arguments.beside:
        sys.path.append(arguments.beside)
    print(f"load {os.getloadavg()[0]:.1f}")
    if arguments.gap:
        return gap(arguments)
    queries = texts_of(arguments.texts, arguments.queries)
    if arguments.whole:
        return measure_store(arguments.work / f"store-{arguments.whole}", arguments.whole, queries)
    for clips in arguments.clips:
        if clips <= 100_000 or not arguments.quick:
            measure(clips, queries, arguments.threads)
    return None


if __name__ == "__main__":
    main()
