"""Boxes matched as DenseCap does it (Johnson et al., CVPR 2016): references merged, detections served by score.

merge   Boxes that overlap by at least `threshold` are one region with several captions. Over and over, the box with the
        most such neighbours (the first on ties) takes them all; a neighbour's neighbours are not its own.
serve   Each detection, surest first, picks the reference it overlaps most, taken or not; the first to pick it has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Ints = NDArray[np.int64]


def merge_boxes(rows: Callable[[Ints], Matrix], count: int, threshold: float, step: int) -> list[list[int]]:
    """Groups of boxes, each box once. Their IoU is made when it is asked for: `rows` of these, `step` at a time.

    Only the number of each box's neighbours is kept. IoU is the same from either side, so that what a group takes from
    the others is the sum of its own rows.
    """

    whole = rows(np.arange(count)) if count <= step else None

    def near(at: Ints) -> NDArray[np.bool_]:
        good = (rows(at) if whole is None else whole[at]) >= threshold
        good[np.arange(len(at)), at] = True
        return good

    parts = [np.arange(start, min(start + step, count)) for start in range(0, count, step)]
    degree = np.concatenate([np.zeros(0, np.int64), *(near(at).sum(axis=1) for at in parts)])
    alone, groups = np.ones(count, bool), list[list[int]]()
    while count and degree[first := int(np.where(alone, degree, 0).argmax())] > 1 and alone[first]:
        group = np.flatnonzero(near(np.array([first]))[0] & alone)
        groups.append(group.tolist())
        alone[group] = False
        for start in range(0, len(group), step):
            degree -= near(group[start : start + step]).sum(axis=0)
    return groups + [[i] for i in np.flatnonzero(alone).tolist()]


class Served(NamedTuple):
    """What each detection got, in the order of service. [P] each"""

    picked: Ints  # which reference; −1: it overlaps none
    iou: Matrix
    first: NDArray[np.bool_]  # nobody had picked that reference before


def serve(parts: Iterable[Matrix], stray: int = -1) -> Served:
    """Over IoU that comes some detections at a time, in the order of service: [G, p] each.

    stray: what a detection picks that overlaps nothing.
    """
    chosen, found = [np.zeros(0, np.int64)], [np.zeros(0)]
    for iou in parts:
        P = iou.shape[1]
        if not iou.shape[0]:
            chosen.append(np.full(P, -1))
            found.append(np.zeros(P))
            continue
        picked = iou.argmax(axis=0)
        best = iou[picked, np.arange(P)]
        picked[best <= 0] = stray if stray >= 0 else -1
        chosen.append(picked)
        found.append(best)
    picked, best = np.concatenate(chosen), np.concatenate(found)
    first = np.zeros(len(picked), dtype=bool)
    first[np.unique(picked, return_index=True)[1]] = True
    first &= picked >= 0
    return Served(picked, best, first)


def find_priors(served: Served) -> Matrix:
    """The best IoU among the detections that had picked the same reference before; 0 for the first. [P]"""
    prior = np.zeros(len(served.iou))
    best: dict[int, float] = {}
    for d, (j, value) in enumerate(zip(served.picked.tolist(), served.iou.tolist(), strict=True)):
        prior[d] = before = best.get(j, 0.0)
        best[j] = max(before, value)
    return prior
