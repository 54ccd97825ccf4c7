"""SODA_d over all of ActivityNet val, compiled kernels against their Python twins; the cost of `import fabula`.

    python bench/soda_d.py

Annotator 2 plays the system, annotator 1 the reference. Each figure is the best of five in one run.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from _data import options, ratio

import fabula
from fabula import _kernels
from fabula.match import ordered


def best(work: Callable[[], object], times: int = 5) -> float:
    took = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return min(took)


def import_time(module: str) -> float:
    return best(lambda: subprocess.run([sys.executable, "-c", f"import {module}"], check=True), 7)


def main() -> None:
    data = options(__doc__ or "").data
    refs, _ = fabula.read(data / "anet_captions" / "val_1.json")
    pred, _ = fabula.read(data / "anet_captions" / "val_2.json")
    took = {}
    for choice in ("python", "native"):
        with _kernels.using(choice):
            took[choice] = best(lambda: fabula.score(pred, refs, metrics="SODA_d", protocol="soda-2021"))
    ratio(f"SODA_d, {len(refs):,} videos", took["python"], took["native"], "Python twin", "native")

    C = np.random.default_rng(0).random((5000, 5000))
    for choice in ("python", "native"):
        with _kernels.using(choice):
            took[choice] = best(lambda: ordered(C), 3)
    ratio("ordered match, 5,000 × 5,000", took["python"], took["native"], "Python twin", "native")

    nothing, numpy, ours = (import_time(m) for m in ("sys", "numpy", "fabula"))
    print(f"import: python alone {nothing * 1e3:.0f} ms, numpy {numpy * 1e3:.0f} ms, fabula {ours * 1e3:.0f} ms")
    print(f"fabula over bare python / numpy over bare python: {(ours - nothing) / (numpy - nothing):.2f}")


if __name__ == "__main__":
    main()
