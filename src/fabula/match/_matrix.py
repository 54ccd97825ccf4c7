"""The check every matcher makes first: a matrix of finite numbers, or an error that says where it is not."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fabula.core.errors import MatrixError

Matrix = NDArray[np.float64]
Pairs = list[tuple[int, int]]


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
