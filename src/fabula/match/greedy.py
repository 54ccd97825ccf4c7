"""Greedy one-to-one matching: the largest entry first, then the largest still free; ties by row, then column."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fabula.match._matrix import Pairs, matrix


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
