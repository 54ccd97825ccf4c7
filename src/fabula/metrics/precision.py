"""Average precision, once for all who rank: detections, highlight clips, windows.

Interpolated: the best precision from each place of the ranking on,        P̂_i = max_{j ≥ i} P_j

at levels (DenseCap)      AP = 1/|T| Σ_{t ∈ T} P̂ at the first recall ≥ t              T = 0, .01, … .99, or with 1.0
of tied scores (HL_mAP)   AP = Σ_i (R_i − R_{i−1}) · P̂_i    after the i-th distinct score
of windows (MR_mAP)       AP = Σ_i (R_i − R_{i−1}) · P̂_i    after the i-th window
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fabula._kernels import native

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Grid = Literal["exact", "float32", "arange", "accumulated"]
NEAR = 1e-12


def best_from_here(precision: Floats, axis: int) -> Floats:
    """P̂: the running maximum from the end."""
    best: Floats = np.flip(np.maximum.accumulate(np.flip(precision, axis), axis=axis), axis)
    return best


def average_precision(places: NDArray[np.int64], npos: int, levels: int = 100, grid: Grid = "exact") -> float:
    """At levels of recall. `places` of the hits from 1 on, rising; precision_k = k / place, recall_k = k / npos.

    grid    exact: t = k/100, reached from 1e-12 below on · float32: recall, t and precision rounded to float32
            arange: float32, with the levels that torch.arange(0, 1, .01) has: some an ulp above k/100, so that a
            recall of exactly .42, .45, .76, .77, .78 or .84 fails its level
            accumulated: t grows by .01 in doubles, which passes 1.0 and is .5000000000000002 for .5
    """
    if not len(places) or not npos:
        return 0.0
    real = np.dtype(np.float32 if grid in ("float32", "arange") else np.float64)
    k = np.arange(1, len(places) + 1).astype(real)
    precision, recall = k / places.astype(real), k / np.array(npos).astype(real)
    best = np.append(best_from_here(precision, 0), 0)  # the best from the k-th hit on; 0 past the last
    reached = np.searchsorted(recall, thresholds(levels, grid).astype(real), side="left")
    return float(np.cumsum(best[reached], dtype=np.float64)[-1] / levels)


def thresholds(levels: int, grid: Grid) -> Floats:
    """The levels of recall asked for, rising. [levels]"""
    exact = np.arange(levels) / 100
    if grid == "accumulated":
        steps = np.full(levels, 0.01)
        steps[0] = 0.0
        return np.cumsum(steps)
    if grid == "arange":
        return torch_levels(levels)
    return exact if grid == "float32" else exact - NEAR


def torch_levels(levels: int) -> Floats:
    """As PyTorch fills an arange: eight at a time, each block's first value rounded; the last four one by one."""
    i = np.arange(levels)
    first = (0.01 * (i - i % 8)).astype(np.float32).astype(np.float64)
    return np.where(i < 96, first + 0.01 * (i % 8), 0.01 * i).astype(np.float32).astype(np.float64)


def precision_of_ties(positive: Floats, scores: Floats, steps: str) -> Floats:
    """Of clips, those of one score together, for every annotator. positive [C, A], scores [C] → [A]

    steps   recall: as above · scores: the plain mean of P̂ over the scores at which recall rises
    No highlight: 0; nothing but highlights: 1.
    """
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)  # the last clip of each score
    found = np.cumsum(positive[order], axis=0)[ends]  # [S, A]
    total = positive.sum(axis=0)  # [A]
    precision = best_from_here(found / (ends + 1)[:, None], 0)
    gained = np.diff(found, axis=0, prepend=0.0)
    if steps == "scores":
        rises = gained > 0
        ap = (precision * rises).sum(axis=0) / np.maximum(rises.sum(axis=0), 1)
    else:
        ap = (precision * gained).sum(axis=0) / np.maximum(total, 1)
    result: Floats = np.where(total == 0, 0.0, np.where(total == len(positive), 1.0, ap))
    return result


def precision_of_clips(marks: Floats, scores: Floats, counts: Ints, levels: Sequence[float], steps: str) -> Floats:
    """`precision_of_ties` of many videos' clips end to end, the mean over annotators at each level of the marks.

    marks [ΣC, A], scores [ΣC], counts [Q] → [Q, L]
    """
    kernels = native()
    if kernels is None or marks.shape[1] < 2 or not np.isfinite(scores).all():
        return precision_of_clips_python(marks, scores, counts, levels, steps)
    found: Floats = kernels.clip_precision(
        np.ascontiguousarray(marks), scores, counts, list(map(float, levels)), steps == "scores"
    )
    return found


def precision_of_clips_python(
    marks: Floats, scores: Floats, counts: Ints, levels: Sequence[float], steps: str
) -> Floats:
    """The specification of the kernel; and what serves one annotator, whose numbers numpy adds up in another order."""
    out = np.zeros((len(counts), len(levels)))
    ends = np.cumsum(counts)
    for q, (C, end) in enumerate(zip(counts.tolist(), ends.tolist(), strict=True)):
        own = slice(end - C, end)
        for k, least in enumerate(levels if C else ()):
            out[q, k] = precision_of_ties((marks[own] >= least).astype(np.float64), scores[own], steps).mean()
    return out


def precision_of_windows(iou: Floats, ranked: Bools, there: Bools, levels: tuple[float, ...]) -> Floats:
    """Of windows, best first, each taking the free reference it overlaps most, at every threshold of IoU.

    iou [Q, P, W], given [Q, P], there [Q, W] → [Q, T]
    """
    kernels = native()
    if kernels is None:
        return precision_of_windows_python(iou, ranked, there, levels)
    found: Floats = kernels.window_precision(np.ascontiguousarray(iou), ranked, there, list(map(float, levels)))
    return found


def precision_of_windows_python(iou: Floats, ranked: Bools, there: Bools, levels: tuple[float, ...]) -> Floats:
    """The specification of the kernel."""
    Q, P, W = iou.shape
    T = len(levels)
    tau = np.array(levels)
    query = np.arange(Q)
    free = np.repeat(there[:, None], T, axis=1)  # [Q, T, W]
    hits = np.zeros((Q, T, P), dtype=bool)
    best_first = np.argsort(iou, axis=2, kind="stable")[..., ::-1]  # on ties the later window first, as published
    for p in range(P):
        open_ = np.ones((Q, T), dtype=bool)
        for w in range(W):
            g = best_first[:, p, w]
            take = open_ & (iou[query, p, g][:, None] >= tau) & free[query, :, g]
            hits[:, :, p] |= take
            free[query, :, g] &= ~take
            open_ &= ~take
    rank = np.cumsum(ranked, axis=1)[:, None]  # [Q, 1, P]
    precision = np.cumsum(hits, axis=2) / np.maximum(rank, 1)
    precision = best_from_here(np.where(ranked[:, None], precision, 0.0), 2)
    total = np.maximum(there.sum(axis=1), 1)[:, None]
    ap: Floats = (precision * hits).sum(axis=2) / total
    return ap
