"""Moments of queries in a corpus of encoded videos: queries a second and memory, as the corpus and the queries grow.

    python bench/moments_search.py                                 # up to 10,000 queries × 100,000 videos
    python bench/moments_search.py --one fabula 1000 10000         # queries, videos: one measurement

Encodings are random (the search does not look at what they mean): 24 clips of 64 numbers a video, a quarter of the
videos shorter. "plain" does the same steps as published programs are written: for a batch of queries, scores and span
probabilities of every video, then the best 100 videos, all their spans sorted, NMS in Python. Each measurement is a
process of its own. Processor time, since other work shares the machine; queries encoded before the clock starts.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np
import torch

from fabula.learn.models.reloclnet import Config, Model
from fabula.learn.retrieval.contract import Queries, Videos
from fabula.learn.retrieval.decode import Decoding
from fabula.learn.retrieval.search import Corpus, search_corpus
from fabula.match.nms import nms

T, H = 24, 64


def make_corpus(videos: int, folder: str) -> Corpus:
    """Encodings in a file that is mapped, written a block at a time, as those of `--work` are."""
    torch.manual_seed(0)
    file = np.lib.format.open_memmap(f"{folder}/search.npy", "w+", np.float32, (videos, T, H))
    for i in range(0, videos, 1000):
        block = torch.randn(min(1000, videos - i), T, H)
        file[i : i + 1000] = torch.nn.functional.normalize(block, dim=-1).numpy()
    file.flush()
    del file
    search = torch.from_numpy(np.load(f"{folder}/search.npy", mmap_mode="c"))
    lengths = torch.where(torch.arange(videos) % 4 == 0, torch.randint(8, T, (videos,)), T)
    rows = Videos(search, search, torch.arange(T) < lengths[:, None])
    names = [f"v{i}" for i in range(videos)]
    return Corpus(names, lengths.float(), rows, torch.arange(videos), torch.zeros(videos, dtype=torch.int64))


def make_queries(count: int) -> Queries:
    torch.manual_seed(1)
    return Queries(torch.nn.functional.normalize(torch.randn(count, H), dim=-1), torch.randn(count, H))


def run_fabula(model: Model, queries: Queries, corpus: Corpus, d: Decoding) -> int:
    answers = 0
    for _, found in search_corpus(model, queries, corpus, d):
        assert found.vcmr is not None
        answers += int((found.vcmr.score > 0).sum())
    return answers


@torch.inference_mode()
def run_plain(model: Model, queries: Queries, corpus: Corpus, d: Decoding, batch: int = 50) -> int:
    """Every video's spans for every query; then a sort, and suppression in Python."""
    answers = 0
    span = torch.arange(T)[None, :] - torch.arange(T)[:, None]
    allowed = ((span >= d.min_length) & (span < d.max_length)).float()
    for i in range(0, len(queries), batch):
        some = queries[slice(i, i + batch)]
        scores = torch.exp(d.alpha * model.video_scores(some, corpus.rows))  # [Q, N]
        start, end = model.span_logits(some.spans[:, None], corpus.rows.spans, corpus.rows.mask)  # [Q, N, T]
        start, end = start.softmax(-1), end.softmax(-1)
        weight, top = scores.sort(descending=True)
        weight, top = weight[:, : d.videos], top[:, : d.videos]
        rows = torch.arange(len(some))[:, None]
        joint = torch.einsum("qv,qvs,qve->qvse", weight, start[rows, top], end[rows, top]) * allowed
        order = joint.flatten(1).sort(descending=True)
        for q in range(len(some)):
            at, score = order.indices[q, : d.before_nms], order.values[q, : d.before_nms]
            video, s, e = top[q][at // (T * T)], at // T % T, at % T
            spans = torch.stack([s * d.clip, (e + 1) * d.clip], -1)
            assert d.nms is not None
            answers += len(nms(spans.numpy(), score.numpy(), d.nms, video.numpy(), d.after_nms))
    return answers


def measure(how: str, count: int, videos: int) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(2)
    model = Model(Config.tiny(feature_dim=8, query_dim=8, hidden=H, heads=4, max_clips=T)).eval()
    d = Decoding.of(model.config)
    with tempfile.TemporaryDirectory() as folder:
        corpus, queries = make_corpus(videos, folder), make_queries(count)
        size = corpus.rows.search.numel() * 4 / 1e6
        wall, cpu = time.perf_counter(), time.process_time()
        answers = (run_fabula if how == "fabula" else run_plain)(model, queries, corpus, d)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # with the pages of the file that were read
    print(json.dumps({"how": how, "queries": count, "videos": videos, "answers": answers, "cpu": cpu, "wall": wall,
                      "peak_mb": peak / 1024, "corpus_mb": size}))  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--one", nargs=3, metavar=("HOW", "QUERIES", "VIDEOS"))
    parser.add_argument("--small", action="store_true", help="without 100,000 videos, and 1,000 queries at most")
    args = parser.parse_args()
    if args.one:
        measure(args.one[0], int(args.one[1]), int(args.one[2]))
        return
    asked = [("fabula", 200, 1_000), ("plain", 200, 1_000), ("fabula", 200, 10_000), ("plain", 100, 10_000),
             ("fabula", 1_000, 10_000)]  # fmt: skip
    if not args.small:
        asked += [("fabula", 10_000, 10_000), ("fabula", 1_000, 100_000), ("fabula", 10_000, 100_000)]
    print("| | queries × videos | processor | queries a second | memory, of which the corpus |\n|---|---|---|---|---|")
    for how, count, videos in asked:
        command = [sys.executable, __file__, "--one", how, str(count), str(videos)]
        r: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        rate = f"{count / r['cpu']:,.0f}"
        memory = f"{r['peak_mb']:,.0f} MB, {r['corpus_mb']:,.0f}"
        print(f"| {how} | {count:,} × {videos:,} | {r['cpu']:.1f} s | {rate} | {memory} |", flush=True)


if __name__ == "__main__":
    main()
