"""Greedy one-to-one matching: the largest entry first, then the largest still free; ties by row, then column."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fabula.match._matrix import Pairs, finite, matrix
from fabula.match.ordered import Cells, Mask, Shapes


def greedy(C: ArrayLike, above: float = 0.0) -> tuple[float, Pairs]:
    """Pairs (i, j) of a score matrix C [G, P] with C[i, j] > above, best first taken; returned sorted by row."""
    C = matrix(C)
    chosen = greedy_many(C.ravel(), np.array([C.shape]), above).reshape(C.shape)
    value = sum(sorted(C[chosen].tolist(), reverse=True))  # in the order in which they were taken
    return float(value), [(i, j) for i, j in np.argwhere(chosen).tolist()]


def greedy_many(C: Cells, shapes: Shapes, above: float = 0.0) -> Mask:
    """Which cells of many matrices end to end, each [G, P], are pairs. [C]"""
    finite(C)
    sizes = shapes[:, 0] * shapes[:, 1]
    cells = np.flatnonzero(above < C)
    which = np.repeat(np.arange(len(shapes)), sizes)
    cells = cells[np.lexsort((-C[cells], which[cells]))]  # by matrix, the largest first, of equals the first
    which = which[cells]
    i, j = np.divmod(cells - (np.cumsum(sizes) - sizes)[which], shapes[which, 1])
    i += (np.cumsum(shapes[:, 0]) - shapes[:, 0])[which]
    j += (np.cumsum(shapes[:, 1]) - shapes[:, 1])[which]
    taken_i, taken_j, pairs = bytearray(int(shapes[:, 0].sum())), bytearray(int(shapes[:, 1].sum())), list[int]()
    for cell, row, column in zip(cells.tolist(), i.tolist(), j.tolist(), strict=True):
        if not (taken_i[row] or taken_j[column]):
            taken_i[row] = taken_j[column] = 1
            pairs.append(cell)
    chosen = np.zeros(len(C), bool)
    chosen[pairs] = True
    return chosen
