"""VCMR, SVMR and VR over 100,000 queries × 100 answers: files in, numbers out, against a plain evaluator's loop.

    python bench/moments.py [--queries 100000] [--answers 100] [--plain 5000]

The plain evaluator is written here in the style of the published ones: the whole document as Python lists, a numpy
array per query, a loop over queries. It takes the first `--plain` queries only, and its time is scaled to all of them;
both give the same numbers on those. Each side runs in its own process, whose peak memory is printed.
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

import numpy as np

VIDEOS = 2_000
SEED = 4
LISTS = ("VCMR", "SVMR", "VR")


def write_files(folder: Path, queries: int, answers: int, name: str) -> None:
    """Random queries and TVR predictions, VCMR in three lists and in lines; a third of the queries is answered well."""
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


def plain(predictions: Path, gt: Path) -> dict[str, float]:
    """VCMR as published evaluators compute it: lists of lists, one query at a time, a table of all flags at the end."""
    submission = json.loads(predictions.read_text())
    queries = {q["desc_id"]: q for q in map(json.loads, gt.read_text().splitlines())}
    answered = {e["desc_id"]: e for e in submission["VCMR"]}
    tables = []
    for id, query in queries.items():
        table = np.array([row[:3] for row in answered[id]["predictions"]][:100], dtype=np.float32)
        right = table[:, 0] == submission["video2idx"][query["vid_name"]]
        iou = plain_iou(table[:, 1:3], np.array(query["ts"], dtype=np.float32)) * right
        tables.append(np.stack([iou >= 0.5, iou >= 0.7], axis=1))
    padded = np.zeros((len(tables), max(map(len, tables)), 2), dtype=bool)
    for i, table in enumerate(tables):
        padded[i, : len(table)] = table
    return {
        f"r{k}@{tau}": float(np.mean(padded[:, :k, t].sum(axis=1) >= 1))
        for t, tau in enumerate((0.5, 0.7))
        for k in (1, 5, 10, 100)
    }


def fabula_side(predictions: Path, gt: Path) -> dict[str, float]:
    import fabula

    result = fabula.score(predictions, gt, protocol="tvr", metrics="VCMR")
    return dict(result["VCMR"].values)


SIDES = {"plain": plain, "fabula": fabula_side}


def measured(side: str, predictions: Path, gt: Path) -> dict[str, object]:
    """One side in a process of its own."""
    command = [sys.executable, __file__, "--side", side, str(predictions), str(gt)]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def side(name: str, predictions: Path, gt: Path) -> None:
    if name == "fabula":
        import fabula.verbs  # noqa: F401  (what a process pays once is not counted on either side)
    start = time.perf_counter()
    values = SIDES[name](predictions, gt)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak_mb": peak, "values": values}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--answers", type=int, default=100)
    parser.add_argument("--plain", type=int, default=5_000, help="how many queries the plain evaluator gets")
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
        slow = measured("plain", folder / "few.json", folder / "few_gt.jsonl")
        same = measured("fabula", folder / "few.json", folder / "few_gt.jsonl")
        assert slow["values"] == same["values"], "the two evaluators differ"
        size = (folder / "all.json").stat().st_size / 2**20
        print(f"VCMR, {given.queries:,} queries × {given.answers} answers, {size:,.0f} MB of JSON, protocol tvr")
        scaled = float(str(slow["seconds"])) * given.queries / few
        print(f"  plain loop        {scaled:8.1f} s   ({few:,} queries in {slow['seconds']:.2f} s, scaled)")
        print(f"                    {slow['peak_mb']:8.0f} MB at {few:,} queries, and it grows with them")
        for what, file in (("one document", "all.json"), ("lines", "all.jsonl")):
            ours = measured("fabula", folder / file, folder / "all_gt.jsonl")
            seconds = float(str(ours["seconds"]))
            print(f"  fabula, {what:<12}{seconds:6.1f} s   {scaled / seconds:5.1f} ×   peak {ours['peak_mb']:.0f} MB")


if __name__ == "__main__":
    main()
