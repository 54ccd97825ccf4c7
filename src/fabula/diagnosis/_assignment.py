"""The best one-to-one matching, order ignored (Kuhn 1955; shortest augmenting paths), without scipy.

Rows are added one at a time; potentials u, v with u_i + v_j ≤ −C_ij keep every reduced cost non-negative, and each row
finds its column along the cheapest path. O(G²P) for G ≤ P. `match.hungarian` is the same through scipy, which is an
extra; a diagnosis must not need one.
"""

from __future__ import annotations

import numpy as np

from fabula import _kernels
from fabula.match import Matrix, Pairs
from fabula.match.ordered import Cells, Mask, Shapes, match_many

MOST = 1e300  # |C|; potentials are sums of a few, and must stay finite


def assignment_many(C: Cells, shapes: Shapes) -> tuple[Cells, Mask]:
    """`assignment` of many matrices end to end, each [G, P]: their values [N], and which cells are their pairs."""
    values, chosen = np.zeros(len(shapes)), np.zeros(len(C), bool)
    if native := _kernels.native():
        native.assignment_many(np.ascontiguousarray(C), np.ascontiguousarray(shapes), values, chosen)
    else:
        assignment_many_python(C, shapes, values, chosen)
    return values, chosen


def assignment_many_python(C: Cells, shapes: Shapes, values: Cells, chosen: Mask) -> None:
    """The readable twin of the compiled kernel."""
    match_many("assignment_many", C, shapes, values, chosen, assignment)


def assignment(C: Matrix) -> tuple[float, Pairs]:
    """The largest sum over one-to-one pairs of C [G, P], and its min(G, P) pairs, sorted by row."""
    if C.size == 0:
        return 0.0, []
    if not (np.abs(C) <= MOST).all():
        raise ValueError("assignment_many: a score is not finite, or beyond 1e300")
    if C.shape[0] > C.shape[1]:
        value, pairs = assignment(C.T)
        return value, sorted((i, j) for j, i in pairs)
    G, P = C.shape
    u, v = np.zeros(G + 1), np.zeros(P + 1)
    row_of = np.zeros(P + 1, dtype=np.int64)  # the row a column belongs to, 1-based; 0: free
    for i in range(1, G + 1):
        row_of[0], j = i, 0
        reach = np.full(P + 1, np.inf)
        before = np.zeros(P + 1, dtype=np.int64)
        done = np.zeros(P + 1, dtype=bool)
        while row_of[j]:
            done[j] = True
            r = row_of[j]
            cost = -C[r - 1] - u[r] - v[1:]
            better = ~done[1:] & (cost < reach[1:])
            reach[1:][better] = cost[better]
            before[1:][better] = j
            j_next = int(np.argmin(np.where(done, np.inf, reach)[1:])) + 1
            step = reach[j_next]
            u[row_of[done]] += step
            v[done] -= step
            reach[~done] -= step
            j = j_next
        while j:
            row_of[j] = row_of[before[j]]
            j = int(before[j])
    pairs = sorted((int(r) - 1, j) for j, r in enumerate(row_of[1:]) if r)
    return float(sum(C[i, j] for i, j in pairs)), pairs
