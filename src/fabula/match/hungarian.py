"""Unordered one-to-one matching of the largest sum (Kuhn 1955), by scipy: what DETR and PDVC train with."""

from __future__ import annotations

from numpy.typing import ArrayLike

from fabula.core.errors import MissingExtra
from fabula.match._matrix import Pairs, matrix


def hungarian(C: ArrayLike) -> tuple[float, Pairs]:
    """The best one-to-one matching of a score matrix C [G, P], order ignored: min(G, P) pairs, sorted by row."""
    C = matrix(C)
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError:
        raise MissingExtra("match.hungarian", "hungarian") from None
    rows, columns = linear_sum_assignment(C, maximize=True)
    return float(C[rows, columns].sum()), [(int(i), int(j)) for i, j in zip(rows, columns, strict=True)]
