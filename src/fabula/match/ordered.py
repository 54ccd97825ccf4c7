"""Ordered one-to-one matching (SODA: Fujita et al., ECCV 2020; supplement, Algorithm 1).

    S[i][j] = max(S[i−1][j], S[i−1][j−1] + C[i][j], S[i][j−1]),    S[0][·] = S[·][0] = 0

The value S[G][P] is the largest sum over pairs whose indices grow strictly on both sides.

Ties. Algorithm 1 makes three tests in a row, so the last that holds wins: UPPER (skip prediction j) before
DIAGONAL (match) before LEFT (skip reference i). We keep that order. Its listing exchanges |P| and |G| in the
borders and LEFT and UPPER in the back-track, and never leaves the border; we follow what it means: "from S[i−1][j]"
lowers i, "from S[i][j−1]" lowers j, and the walk ends at a border. A pair that adds nothing (C = 0) is therefore
never returned, nor one with C < 0, and the pairs always sum to the value.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fabula import _kernels
from fabula.core.memory import require
from fabula.match._matrix import Matrix, Pairs, finite, matrix

Cells = NDArray[np.float64]  # matrices end to end, row by row
Mask = NDArray[np.bool_]  # a flag per cell
Shapes = NDArray[np.int64]  # [N, 2] G and P of each
FEWER = "ask for a metric that needs no pairs (SODA_c), cut the video into parts, or run where there is more memory"


def ordered(C: ArrayLike) -> tuple[float, Pairs]:
    """The best ordered matching of a score matrix C [G, P]: its value, and its pairs (i, j) in order."""
    C = matrix(C)
    native = _kernels.native()
    return native.ordered(C) if native else ordered_python(C)


def ordered_many(C: Cells, shapes: Shapes) -> tuple[Cells, Mask]:
    """The matchings of many matrices end to end, each [G, P]: their values [N], and which cells are their pairs."""
    values, chosen = np.zeros(len(shapes)), np.zeros(len(C), bool)
    if not np.isfinite(C).all():
        finite(C)  # says where
    if native := _kernels.native():
        native.ordered_many(C, shapes, values, chosen)
    else:
        ordered_many_python(C, shapes, values, chosen)
    return values, chosen


def ordered_many_python(C: Cells, shapes: Shapes, values: Cells, chosen: Mask) -> None:
    """The readable twin of the compiled kernel."""
    match_many("ordered_many", C, shapes, values, chosen, ordered_python)


def match_many(
    name: str, C: Cells, shapes: Shapes, values: Cells, chosen: Mask, match: Callable[[Matrix], tuple[float, Pairs]]
) -> None:
    """One matching for each of many matrices end to end: its value, and which cells are its pairs."""
    sizes = [G * P for G, P in shapes.tolist()]
    if (shapes < 0).any() or not sum(sizes) == C.size == chosen.size or len(values) != len(sizes):
        raise ValueError(f"{name}: the cells do not fit the shapes")
    chosen[:] = False
    start = 0
    for n, (G, P) in enumerate(shapes.tolist()):
        end = start + G * P
        values[n], pairs = match(C[start:end].reshape(G, P))
        chosen[[start + i * P + j for i, j in pairs]] = True
        start = end


def fill_between(C: Cells, E: Cells, shapes: Shapes) -> Mask:
    """The pairs of the best matchings of C, and between them those of E, which cost C nothing.

    What lies between two pairs of a best matching has no entry above 0 left: any would have been taken.
    """
    chosen = ordered_many(C, shapes)[1]
    gaps = find_gaps(chosen, shapes)  # [K, 4]
    height, width = gaps[:, 2], gaps[:, 3]
    size = height * width
    gap = np.repeat(np.arange(len(gaps)), size)
    row, column = np.divmod(np.arange(len(gap)) - (np.cumsum(size) - size)[gap], width[gap])
    cells = gaps[gap, 0] + row * gaps[gap, 1] + column  # of all gaps, end to end
    chosen[cells[ordered_many(E[cells], gaps[:, 2:])[1]]] = True
    return chosen


def find_gaps(chosen: Mask, shapes: Shapes) -> Shapes:
    """What lies between the pairs of each matrix: first cell, cells a row of that matrix has, height, width. [K, 4]"""
    sizes = shapes[:, 0] * shapes[:, 1]
    starts = np.cumsum(sizes) - sizes
    at = np.flatnonzero(chosen)
    which = np.searchsorted(starts + sizes, at, side="right")
    i, j = np.divmod(at - starts[which], np.maximum(1, shapes[which, 1]))
    n = np.arange(len(shapes))
    whose = np.concatenate([n, which, n])  # of each matrix the corner before all cells, its pairs, the corner after
    rows = np.concatenate([np.full(len(n), -1), i, shapes[:, 0]])
    columns = np.concatenate([np.full(len(n), -1), j, shapes[:, 1]])
    order = np.lexsort((rows, whose))
    whose, rows, columns = whose[order], rows[order], columns[order]
    height, width = np.diff(rows) - 1, np.diff(columns) - 1
    gaps = np.flatnonzero((whose[1:] == whose[:-1]) & (height > 0) & (width > 0))
    of = whose[gaps]
    first = starts[of] + (rows[gaps] + 1) * shapes[of, 1] + columns[gaps] + 1
    return np.stack([first, shapes[of, 1], height[gaps], width[gaps]], axis=1)


def table(C: Matrix) -> Matrix:
    """S, one row at a time: what comes from above, then the running maximum from the left. [G + 1, P + 1]"""
    G, P = C.shape
    S = np.zeros((G + 1, P + 1))
    for i in range(G):
        S[i + 1, 1:] = np.maximum(S[i, 1:], S[i, :-1] + C[i])
        S[i + 1] = np.maximum.accumulate(S[i + 1])
    return S


def ordered_python(C: Matrix) -> tuple[float, Pairs]:
    """The readable twin of the compiled kernel."""
    if not np.isfinite(C).all():
        raise ValueError("ordered: a score is not finite")
    S = table(C)
    k, l = C.shape  # noqa: E741  (the paper's letters)
    pairs: Pairs = []
    while k > 0 and l > 0:
        if S[k, l] == S[k, l - 1]:  # UPPER: prediction l is skipped
            l -= 1  # noqa: E741
        elif S[k, l] == S[k - 1, l - 1] + C[k - 1, l - 1]:  # DIAGONAL: a(g_k) = l
            k, l = k - 1, l - 1  # noqa: E741
            pairs.append((k, l))
        else:  # LEFT: reference k is skipped
            k -= 1
    return float(S[-1, -1]), pairs[::-1]


class OrderedRows:
    """The matching of one matrix that comes some rows at a time: `add` them in order, then ask.

    The value needs one row of S. For the pairs of the best path two bits a cell are kept, for marked ones (see
    `marked_pairs`) one: 5,000 × 5,000 cells take 6 or 3 MB, where S would take 200.
    """

    def __init__(self, P: int) -> None:
        self.above = np.zeros(P + 1)
        self.rows = 0

    @property
    def value(self) -> float:
        return float(self.above[-1])

    def add(self, C: Matrix) -> None:
        """The next rows of the matrix. [R, P]"""
        finite(C)
        for c in C:
            diagonal = self.above[:-1] + c
            row = np.concatenate([self.above[:1], np.maximum(self.above[1:], diagonal)])
            np.maximum.accumulate(row, out=row)
            self.keep(row, diagonal)
            self.above = row
            self.rows += 1

    def keep(self, row: Cells, diagonal: Cells) -> None:
        """What the pairs are read off; the value alone needs nothing. [P + 1], [P]"""


class TakenRows(OrderedRows):
    """As SODA's published code (9cb3e2c, and its copies) fills the table: skipping everything is not open to it.

    Before the first pair stands −1, not 0, so that a first pair is taken though its score be negative, and lowers what
    is built on it. Where no score is negative the value is that of `ordered`; below 0 it is the best single score.
    """

    def add(self, C: Matrix) -> None:
        finite(C)
        for c in C:
            row = np.concatenate([[-1.0], np.maximum(c, -1.0)])
            if self.rows:
                row[1:2] = np.maximum(row[1:2], self.above[1:2])
                row[2:] = np.maximum(self.above[2:], self.above[1:-1] + c[1:])
            self.above = np.maximum.accumulate(row)
            self.rows += 1


class PathRows(OrderedRows):
    """With the pairs of the best path, as `ordered` has them."""

    def __init__(self, G: int, P: int) -> None:
        super().__init__(P)
        require(G * P // 4, f"the matching of {G} × {P} events", FEWER)
        self.bits = np.zeros((G, 2, (P + 7) // 8), np.uint8)  # UPPER, DIAGONAL

    def keep(self, row: Cells, diagonal: Cells) -> None:
        self.bits[self.rows] = np.packbits([row[1:] == row[:-1], row[1:] == diagonal], axis=1)

    def pairs(self) -> Pairs:
        """The walk back from the last cell: UPPER skips prediction l, DIAGONAL is a(g_k) = l, LEFT skips k."""
        k, l = self.rows, len(self.above) - 1  # noqa: E741  (the paper's letters)
        pairs: Pairs = []
        while k > 0 and l > 0:
            upper, diagonal = (int(plane[(l - 1) >> 3]) >> (7 - (l - 1 & 7)) & 1 for plane in self.bits[k - 1])
            if upper:
                l -= 1  # noqa: E741
            else:
                k -= 1
                if diagonal:
                    l -= 1  # noqa: E741
                    pairs.append((k, l))
        return pairs[::-1]


class MarkedRows(OrderedRows):
    """With the pairs that SODA's published code extracts, as `marked_pairs` has them."""

    def __init__(self, G: int, P: int) -> None:
        super().__init__(P)
        require(G * P // 8, f"the matching of {G} × {P} events", FEWER)
        self.bits = np.zeros((G, (P + 7) // 8), np.uint8)

    def keep(self, row: Cells, diagonal: Cells) -> None:
        marked = row[1:] > np.maximum(self.above[1:], row[:-1])
        if not self.rows:
            marked[:1] = True
        self.bits[self.rows] = np.packbits(marked)

    def pairs(self) -> Pairs:
        pairs: Pairs = []
        limit = len(self.above) - 1
        for i in reversed(range(self.rows)):
            marks = np.flatnonzero(np.unpackbits(self.bits[i], count=limit))
            if marks.size:
                limit = int(marks[-1])
                pairs.append((i, limit))
        return pairs[::-1]


def marked_many(C: Cells, shapes: Shapes) -> Mask:
    """Which cells of many matrices end to end `marked_pairs` chooses."""
    chosen = np.zeros(len(C), bool)
    if native := _kernels.native():
        native.marked_many(np.ascontiguousarray(C), np.ascontiguousarray(shapes), chosen)
    else:
        match_many("marked_many", C, shapes, np.zeros(len(shapes)), chosen, lambda one: (0.0, marked_pairs(one)))
    return chosen


def marked_pairs(C: Matrix) -> Pairs:
    """The pairs SODA's published code extracts (commit 9cb3e2c): not a back-track.

    A cell is marked "match" where neither skip reaches its value (ties go to the skips; the first cell is always
    marked). From the last row up, the right-most mark left of the previous pair is taken, whether or not the best
    path runs through it. So the pairs may sum to less than the value, and one pair comes out even of zeros.
    """
    S = table(C)
    marked = S[1:, 1:] > np.maximum(S[:-1, 1:], S[1:, :-1])  # [G, P]
    if marked.size:
        marked[0, 0] = True
    pairs: Pairs = []
    limit = C.shape[1]
    for i in reversed(range(len(C))):
        marks = np.flatnonzero(marked[i, :limit])
        if marks.size:
            limit = int(marks[-1])
            pairs.append((i, limit))
    return pairs[::-1]
