"""Boxes matched as DenseCap does it (Johnson et al., CVPR 2016): references merged, detections served by score.

merge   Boxes that overlap by at least `threshold` are one region with several captions. Over and over, the box with the
        most such neighbours (the first on ties) takes them all; a neighbour's neighbours are not its own.
serve   Each detection, surest first, picks the reference it overlaps most, taken or not; the first to pick it has it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Ints = NDArray[np.int64]


def merged(iou: Matrix, threshold: float) -> list[list[int]]:
    """Groups of boxes, by their IoU with one another. [G, G] → indices, each once"""
    good = iou >= threshold
    np.fill_diagonal(good, True)
    neighbours = good.sum(axis=1)
    free = np.ones(len(good), dtype=bool)
    groups: list[list[int]] = []
    while len(good) and neighbours[top := int(neighbours.argmax())] > 1:
        group = np.flatnonzero(good[top] & free)
        free[group] = False
        neighbours -= good[:, group].sum(axis=1)
        neighbours[~free] = 0
        groups.append(group.tolist())
    return groups + [[int(i)] for i in np.flatnonzero(free)]  # the rest stand alone, in their order


class Served(NamedTuple):
    """What each detection got, in the order of service. [P] each"""

    picked: Ints  # which reference; −1: it overlaps none
    iou: Matrix
    first: NDArray[np.bool_]  # nobody had picked that reference before
    prior: Matrix  # the best IoU among those who had


def serve(iou: Matrix, stray: int = -1) -> Served:
    """Over IoU [G, P], detections in the order of service. `stray`: what one that overlaps nothing picks."""
    P = iou.shape[1]
    if not iou.shape[0]:
        return Served(np.full(P, -1), np.zeros(P), np.zeros(P, dtype=bool), np.zeros(P))
    picked = iou.argmax(axis=0)
    best = iou[picked, np.arange(P)]
    picked[best <= 0] = stray if stray >= 0 else -1
    first = np.zeros(P, dtype=bool)
    first[np.unique(picked, return_index=True)[1]] = True
    first &= picked >= 0
    prior = np.zeros(P)
    seen: dict[int, float] = {}
    for d, (j, value) in enumerate(zip(picked.tolist(), best.tolist(), strict=True)):
        before = seen.get(j, 0.0)
        prior[d] = before
        seen[j] = max(before, value)
    return Served(picked, best, first, prior)
