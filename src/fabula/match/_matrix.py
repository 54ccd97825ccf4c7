"""The check every matcher makes first: a matrix of finite numbers, or an error that says where it is not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fabula.core.errors import MatrixError

Matrix = NDArray[np.float64]
Pairs = list[tuple[int, int]]
Cells = NDArray[np.float64]  # matrices end to end, row by row
Mask = NDArray[np.bool_]  # a flag per cell
Shapes = NDArray[np.int64]  # [N, 2] G and P of each


def matrix(C: ArrayLike, name: str = "C") -> Matrix:
    """C as contiguous float64. [G, P]"""
    try:
        entries = np.asarray(C)
        if entries.dtype.kind not in "biufO":  # numpy would read dates and digits, and cut complex numbers short
            raise TypeError(f"its entries are {entries.dtype}")
        array = np.ascontiguousarray(entries, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise MatrixError(f"{name} is not a matrix of numbers ({error})") from None
    if array.size == 0 and array.ndim < 2:
        array = array.reshape(0, 0)
    if array.ndim != 2:
        raise MatrixError(f"{name} has {array.ndim} dimensions (shape {array.shape}); a matching needs 2: [G, P]")
    finite(array, name)
    return array


def finite(array: NDArray[np.float64], name: str = "C") -> None:
    """An error that says where an entry is not finite."""
    bad = ~np.isfinite(array)
    if bad.any():
        place = tuple(np.argwhere(bad)[0].tolist())
        at = ", ".join(map(str, place))
        raise MatrixError(
            f"{name}[{at}] is {array[place]} ({int(bad.sum())} of {array.size} entries are not finite); "
            "mend the scores before matching"
        )


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
