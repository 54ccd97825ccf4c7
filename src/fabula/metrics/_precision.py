"""Interpolated average precision, from the places of the hits in a ranking (as DenseCap's evaluator computes it).

AP = 1/|T| Σ_{t ∈ T} max {precision_k : recall_k ≥ t}

precision_k = k / place of the k-th hit          recall_k = k / npos

levels  T = 0, .01, … .99: 100, or with 1.0 101
grid    exact: t = k/100, reached from 1e-12 below on · float32: recall, t and precision rounded to float32
        arange: float32, with the levels that torch.arange(0, 1, .01) has: some an ulp above k/100, so that a recall of
        exactly .42, .45, .76, .77, .78 or .84 fails its level
        accumulated: t grows by .01 in doubles, which passes 1.0 and is .5000000000000002 for .5
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Grid = Literal["exact", "float32", "arange", "accumulated"]
NEAR = 1e-12


def average_precision(places: NDArray[np.int64], npos: int, levels: int = 100, grid: Grid = "exact") -> float:
    """`places` of the hits from 1 on, rising. 0 where there is no hit."""
    if not len(places) or not npos:
        return 0.0
    real = np.dtype(np.float32 if grid in ("float32", "arange") else np.float64)
    k = np.arange(1, len(places) + 1).astype(real)
    precision, recall = k / places.astype(real), k / np.array(npos).astype(real)
    best = np.append(np.maximum.accumulate(precision[::-1])[::-1], 0)  # the best from the k-th hit on; 0 past the last
    reached = np.searchsorted(recall, thresholds(levels, grid).astype(real), side="left")
    return float(np.cumsum(best[reached], dtype=np.float64)[-1] / levels)


def thresholds(levels: int, grid: Grid) -> NDArray[np.float64]:
    """The levels of recall asked for, rising. [levels]"""
    exact = np.arange(levels) / 100
    if grid == "accumulated":
        steps = np.full(levels, 0.01)
        steps[0] = 0.0
        return np.cumsum(steps)
    if grid == "arange":
        return arange(levels)
    return exact if grid == "float32" else exact - NEAR


def arange(levels: int) -> NDArray[np.float64]:
    """As PyTorch fills it: eight at a time, each block's first value rounded; the last four one by one."""
    i = np.arange(levels)
    first = (0.01 * (i - i % 8)).astype(np.float32).astype(np.float64)
    return np.where(i < 96, first + 0.01 * (i % 8), 0.01 * i).astype(np.float32).astype(np.float64)
