"""Greedy one-to-one matching: the largest entry first, then the largest still free; ties by row, then column."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fabula.match._matrix import Pairs, finite, matrix


def greedy(C: ArrayLike, above: float = 0.0) -> tuple[float, Pairs]:
    """Pairs (i, j) of a score matrix C [G, P] with C[i, j] > above, best first taken; returned sorted by row."""
    C = matrix(C)
    rows, columns, pairs = set(range(C.shape[0])), set(range(C.shape[1])), []
    for flat in np.argsort(-C, axis=None, kind="stable"):
        i, j = divmod(int(flat), C.shape[1])
        if C[i, j] <= above or not rows or not columns:
            break
        if i in rows and j in columns:
            rows.remove(i)
            columns.remove(j)
            pairs.append((i, j))
    return float(sum(C[i, j] for i, j in pairs)), sorted(pairs)


def greedy_many(C: NDArray[np.float64], shapes: NDArray[np.int64], above: float = 0.0) -> NDArray[np.bool_]:
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
