"""VCMR over 100,000 queries × 100 answers: files in, numbers out, against a plain evaluator's loop.

    python bench/moments.py [--queries 100000] [--answers 100] [--plain 5000] [--runs 3]

The plain evaluator is written here in the style of the published ones: the whole document as Python lists, a numpy
array per query, a loop over queries, one padded array of flags at the end. It takes `--plain` queries, and its time is
scaled to all of them; both give the same numbers on those. Each side runs in processes of its own, in turn, and its
best run counts; peak memory is printed. The ratio of processor times holds on a busy machine too, that of wall times on
a quiet one; `of it evaluation` leaves out reading the files on both sides.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

VIDEOS = 2_000
SEED = 4


def write_files(folder: Path, queries: int, answers: int, name: str) -> None:
    """Random queries and TVR predictions, as a document and as lines; a third of the queries is answered well."""
    rng = np.random.default_rng(SEED)
    names = [f"video_{v:05d}" for v in range(VIDEOS)]
    numbers = json.dumps({n: v for v, n in enumerate(names)})
    with (
        (folder / f"{name}_gt.jsonl").open("w") as gt,
        (folder / f"{name}.json").open("w") as document,
        (folder / f"{name}.jsonl").open("w") as lines,
    ):
        document.write(f'{{"video2idx": {numbers}, "VCMR": [')
        lines.write(f'{{"video2idx": {numbers}}}\n')
        for q in range(queries):
            video, start = int(rng.integers(VIDEOS)), round(float(rng.uniform(0, 60)), 2)
            end = round(start + float(rng.uniform(2, 20)), 2)
            query = {"desc_id": q, "vid_name": names[video], "ts": [start, end], "duration": 90.0, "desc": "x" * 50}
            gt.write(json.dumps(query) + "\n")
            table = np.empty((answers, 4))
            table[:, 0] = rng.integers(0, VIDEOS, answers)
            table[:, 1] = rng.integers(0, 40, answers) * 1.5
            table[:, 2] = table[:, 1] + rng.integers(1, 12, answers) * 1.5
            table[:, 3] = np.sort(rng.random(answers))[::-1]
            if q % 3 == 0:
                table[int(rng.integers(answers)), :3] = video, start, end + float(rng.uniform(-1, 4))
            rows = ", ".join(f"[{v:.0f}, {s:.2f}, {e:.2f}, {p:.7f}]" for v, s, e, p in table.tolist())
            entry = f'{{"desc_id": {q}, "desc": "{"x" * 50}", "predictions": [{rows}]}}'
            document.write((", " if q else "") + entry)
            lines.write(entry + "\n")
        document.write("]}")


# The plain side -----------------------------------------------------------------------------------------------------


def plain_iou(p: np.ndarray, g: np.ndarray) -> np.ndarray:
    inter = np.maximum(0, np.minimum(p[:, 1], g[1]) - np.maximum(p[:, 0], g[0]))
    hull = np.maximum(p[:, 1], g[1]) - np.minimum(p[:, 0], g[0])
    return np.divide(inter, hull, out=np.zeros_like(inter), where=hull != 0)


def plain(predictions: Path, gt: Path) -> tuple[dict[str, float], float]:
    """VCMR as published evaluators compute it: lists of lists, one query at a time, a table of all flags at the end."""
    submission = json.loads(predictions.read_text())
    ground_truth = [json.loads(line) for line in gt.read_text().splitlines()]
    start = time.process_time()
    answered = {e["desc_id"]: e for e in submission["VCMR"]}
    tables = []
    for query in ground_truth:
        rows = [row[:3] for row in answered[query["desc_id"]]["predictions"]][:100]
        table = np.array(rows, dtype=np.float32)
        right = table[:, 0] == submission["video2idx"][query["vid_name"]]
        table = np.concatenate([table, right[:, None]], axis=1)
        iou = plain_iou(table[:, 1:3], np.array(query["ts"], dtype=np.float32)) * right
        flags = [(iou >= tau)[:, None] for tau in (0.5, 0.7)]
        tables.append(np.concatenate([table, *flags], axis=1))
    padded = np.zeros((len(tables), max(map(len, tables)), 6), dtype=np.float32)
    for i, table in enumerate(tables):
        padded[i, : len(table)] = table
    values = {}
    for t, tau in enumerate((0.5, 0.7)):
        for k in (1, 5, 10, 100):
            values[f"r{k}@{tau}"] = float(np.mean(padded[:, :k, 4 + t].astype(bool).sum(axis=1) >= 1))
    return values, time.process_time() - start


def ours(predictions: Path, gt: Path) -> tuple[dict[str, float], float]:
    import fabula

    return dict(fabula.score(predictions, gt, protocol="tvr", metrics="VCMR")["VCMR"].values), 0.0


def ours_in_memory(predictions: Path, gt: Path) -> tuple[dict[str, float], float]:
    """The rankings read beforehand: what is measured is the evaluation alone."""
    from fabula.benchmarks import protocol
    from fabula.core.notes import Notes
    from fabula.data.moments import VideoNumbers
    from fabula.evaluate.rankings import Reading, moment_rows
    from fabula.io import moments

    numbers, notes, metric = VideoNumbers(), Notes(), protocol("tvr").metric("VCMR")
    queries = moments.read_queries([gt], notes)
    rankings = list(moments.read_rankings(predictions, numbers, notes)[0])
    start = time.process_time()
    values = metric.fold(moment_rows([metric], queries, rankings, Reading(numbers)).rows[metric])
    return values, time.process_time() - start


SIDES = {"plain": plain, "fabula": ours, "memory": ours_in_memory}


def measured(side: str, predictions: Path, gt: Path) -> dict[str, Any]:
    """One side in a process of its own."""
    command = [sys.executable, __file__, "--side", side, str(predictions), str(gt)]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def best(runs: int, *sides: tuple[str, Path, Path]) -> list[dict[str, Any]]:
    """Each side's best time of either kind, the sides taking turns."""
    found = [[measured(*side) for side in sides] for _ in range(runs)]
    return [
        {**some[0], **{what: min(run[what] for run in some) for what in ("cpu", "wall", "evaluation")}}
        for some in zip(*found, strict=True)
    ]


def side(name: str, predictions: Path, gt: Path) -> None:
    if name != "plain":
        import fabula.io.moments
        import fabula.verbs.scoring.score

        fabula.io.moments.formats()  # what a process pays once is not counted on either side
    wall, start = time.perf_counter(), time.process_time()
    values, evaluation = SIDES[name](predictions, gt)
    seconds, wall = time.process_time() - start, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"cpu": seconds, "wall": wall, "peak": peak, "values": values, "evaluation": evaluation}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--answers", type=int, default=100)
    parser.add_argument("--plain", type=int, default=5_000, help="how many queries the plain evaluator gets")
    parser.add_argument("--runs", type=int, default=3, help="how often each side runs")
    parser.add_argument("--side", nargs=3, metavar=("SIDE", "PREDICTIONS", "GT"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side:
        side(given.side[0], Path(given.side[1]), Path(given.side[2]))
        return
    few = min(given.plain, given.queries)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_files(folder, few, given.answers, "few")
        write_files(folder, given.queries, given.answers, "all")
        few_files, gt = (folder / "few.json", folder / "few_gt.jsonl"), folder / "all_gt.jsonl"
        slow, same, memory, document, lines = best(
            given.runs,
            ("plain", *few_files),
            ("fabula", *few_files),
            ("memory", *few_files),
            ("fabula", folder / "all.json", gt),
            ("fabula", folder / "all.jsonl", gt),
        )
        assert slow["values"] == same["values"] == memory["values"], "the two evaluators differ"
        assert document["values"] == lines["values"], "the two shapes differ"
        size, times = (folder / "all.json").stat().st_size / 2**20, given.queries / few
        print(f"VCMR, {given.queries:,} queries × {given.answers} answers, {size:,.0f} MB of JSON, protocol tvr")
        print(f"  {'':22}{'processor':>10}{'ratio':>8}{'wall':>10}{'ratio':>8}{'peak memory':>14}")
        line = "  {:22}{:>8.2f} s{:>7.1f}×{:>8.2f} s{:>7.1f}×{:>11.0f} MB"
        cpu, wall = slow["cpu"] * times, slow["wall"] * times
        print(line.format("plain loop, scaled", cpu, 1, wall, 1, slow["peak"]) + f" at {few:,}")
        for what, found in (("fabula, one document", document), ("fabula, lines", lines)):
            print(
                line.format(what, found["cpu"], cpu / found["cpu"], found["wall"], wall / found["wall"], found["peak"])
            )
        ratio = slow["evaluation"] / memory["evaluation"]
        alone = f"{slow['evaluation']:.2f} s plain, {memory['evaluation']:.3f} s fabula, {ratio:.1f}×"
        print(f"  of it evaluation, at {few:,} queries: {alone}")


if __name__ == "__main__":
    main()
