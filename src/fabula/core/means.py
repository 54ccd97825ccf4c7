"""Means, and the harmonic one: written once, because the order of a sum decides its last digit.

mean(x) = Σx / n        0 where there is nothing
F1      = 2PR / (P + R) 0 where both are 0
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def mean(values: Sequence[float]) -> float:
    """Of Python numbers, added from left to right."""
    return sum(values) / len(values) if values else 0.0


def add_up(columns: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The sum of columns, entry by entry from left to right."""
    total = np.zeros_like(columns[0])
    for column in columns:
        total += column
    return total


def mean_in_order(values: NDArray[np.float64]) -> float:
    """Of an array, added from left to right as a published loop does; numpy's own mean adds in pairs."""
    return float(np.cumsum(values)[-1] / len(values)) if len(values) else 0.0


def f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def f1_of(P: NDArray[np.float64], R: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same of arrays, entry by entry."""
    values: NDArray[np.float64] = np.divide(2 * P * R, P + R, out=np.zeros_like(P), where=P + R > 0)
    return values
