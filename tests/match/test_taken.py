"""SODA's table as published, where scores may be negative: rows at once against the definition cell by cell."""

import numpy as np
import pytest

from fabula.core.errors import MatrixError
from fabula.match.ordered import OrderedRows, TakenRows


def fill(C: np.ndarray) -> float:
    """The recursion as it is written down: −1 where there is nothing before."""
    S = np.zeros(C.shape)
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            up = S[i - 1, j] if i else -1.0
            left = S[i, j - 1] if j else -1.0
            before = S[i - 1, j - 1] if i and j else 0.0
            S[i, j] = max(up, left, before + C[i, j])
    return float(S[-1, -1])


def taken(C: np.ndarray, cut: int = 2) -> float:
    rows = TakenRows(C.shape[1])
    for start in range(0, len(C), cut):
        rows.add(C[start : start + cut])
    return rows.value


@pytest.mark.parametrize("seed", range(40))
def test_the_value_is_that_of_the_recursion(seed: int) -> None:
    chance = np.random.default_rng(seed)
    G, P = chance.integers(1, 7, 2)
    C = chance.choice([-2.5, -1.0, -0.3, 0.0, 0.2, 0.9, 1.5], (G, P))
    assert taken(C) == taken(C, 100) == fill(C)
    above = OrderedRows(P)
    above.add(np.abs(C))
    assert taken(np.abs(C)) == above.value  # where no score is negative, nothing is other


def test_by_pencil() -> None:
    assert taken(np.array([[-0.5]])) == -0.5
    assert taken(np.array([[-3.0]])) == -1
    assert taken(np.array([[-0.25, 0.0], [-0.1, 0.5]])) == 0.25  # the corner is taken, and lowers the pair after it
    with pytest.raises(MatrixError, match="not finite"):
        taken(np.array([[np.nan]]))
