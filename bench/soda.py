"""SODA_c over ActivityNet val with two reference sets: our whole process against the official Java, in one run.

    python bench/soda.py [--videos 500]

Below it the same without kernels, as where there is no compiler: the Python twins, and how many times slower they are.

A real model's captions (BMT) against both annotators merged, as SODA's own command does. Ours: `fabula score` in a
process of its own from a warm cache, its modules compiled before as pip compiles them. Official: PTBTokenizer and
METEOR jars, driven as pycocoevalcap drives them.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _data import load, options
from _official import Unavailable, soda_c_official

SCORE = ("--protocol", "soda-2021", "--metrics", "SODA_c", "--json", "-")


def ours(pred: Path, refs: list[Path], compiled: Path, kernels: str = "auto") -> tuple[dict[str, float], float, int]:
    command = [
        sys.executable,
        "-c",
        "from fabula.verbs.command_line import main; main()",
        "score",
        str(pred),
        "--refs",
        *map(str, refs),
    ]
    env = os.environ | {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(compiled), "FABULA_KERNELS": kernels}
    began = time.perf_counter()
    done = subprocess.run([*command, *SCORE], capture_output=True, text=True, check=True, env=env)
    took = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return json.loads(done.stdout)["scores"]["SODA_c"], took, peak


def show(who: str, precision: float, recall: float, f1: float, seconds: float, peak: int) -> None:
    print(f"{who:<9} P {precision:.6f} R {recall:.6f} F {f1:.6f}  {seconds:.2f} s  {peak / 2**20:,.0f} MB")


def main() -> None:
    given = options(__doc__ or "")
    refs = [load(given.data / "anet_captions" / f"val_{k}.json") for k in (1, 2)]
    results = load(given.data / "anet_preds_bmt" / "captioning_results_val_1_e26.json")["results"]
    if given.videos:
        results = dict(list(results.items())[: given.videos])
        refs = [{v: r[v] for v in r if v in results} for r in refs]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"refs_{k}.json" for k in range(len(refs))]
        for file, ref in zip(files, refs, strict=True):
            file.write_text(json.dumps(ref))
        pred = Path(folder) / "pred.json"
        pred.write_text(json.dumps({"results": results}))
        compiled = Path(folder) / "compiled"
        ours(pred, files, compiled)  # warms the cache
        score, took, peak = min((ours(pred, files, compiled) for _ in range(3)), key=lambda run: run[1])
        twins, slow, wide = ours(pred, files, compiled, "python")
    print(f"{len(results):,} videos on {os.cpu_count()} cores")
    show("fabula", score["precision"], score["recall"], score["f1"], took, peak)
    show("twins", twins["precision"], twins["recall"], twins["f1"], slow, wide)
    alike = "the same" if twins == score else "others"
    print(f"the twins take {slow / took:.0f} times as long, their numbers are {alike}")
    merged = {}
    for v in dict.fromkeys(v for r in refs for v in r):
        events = [e for r in refs if v in r for e in zip(r[v]["timestamps"], r[v]["sentences"], strict=True)]
        events.sort(key=lambda event: event[0][0])
        merged[v] = {"timestamps": [t for t, _ in events], "sentences": [s for _, s in events]}
    try:
        official = soda_c_official(merged, results)
    except Unavailable as why:
        print(f"official  not measured: {why}")
        return
    rss = official.meteor.peak_rss
    show("official", official.precision, official.recall, official.f1, official.seconds, rss)
    print(f"wall time {official.seconds / took:.0f}× less, memory {rss / peak:.1f}× less")


if __name__ == "__main__":
    main()
