"""Greedy matching by hand."""

import numpy as np
import pytest

from fabula.match import greedy
from fabula.match.greedy import greedy_many

CASES = {
    "largest first": ([[0.9, 0.8], [0.8, 0.1]], 0.9 + 0.1, [(0, 0), (1, 1)]),
    "order is not asked for": ([[0.1, 0.9], [0.8, 0.2]], 0.9 + 0.8, [(0, 1), (1, 0)]),
    "ties by row, then column": ([[0.5, 0.5], [0.5, 0.5]], 1.0, [(0, 0), (1, 1)]),
    "nothing above 0": ([[0, -1], [-2, 0]], 0.0, []),
    "more columns": ([[0.3, 0.7, 0.5]], 0.7, [(0, 1)]),
    "more rows": ([[0.3], [0.7], [0.5]], 0.7, [(1, 0)]),
    "empty": ([], 0.0, []),
    "no columns": ([[], []], 0.0, []),
}


@pytest.mark.parametrize(("C", "value", "pairs"), CASES.values(), ids=CASES.keys())
def test_by_hand(C, value, pairs):
    assert greedy(C) == (pytest.approx(value), pairs)


def test_above():
    C = [[0.9, 0], [0, 0.5]]
    assert greedy(C, above=0.5) == (0.9, [(0, 0)])  # strictly above
    assert greedy(C, above=0.4) == (1.4, [(0, 0), (1, 1)])
    assert greedy([[-3, -1]], above=-2) == (-1.0, [(0, 1)])


@pytest.mark.parametrize("above", [0.0, 0.4, -1.0])
def test_many_matrices_each_their_own(above):
    chance = np.random.default_rng(1)
    some = [np.round(chance.random(chance.integers(0, 6, 2)), 1) - 0.1 for _ in range(200)]  # ties among them
    chosen = greedy_many(np.concatenate([C.ravel() for C in some]), np.array([C.shape for C in some]), above)
    start = 0
    for C in some:
        at = np.argwhere(chosen[start : start + C.size].reshape(C.shape)).tolist()
        assert [tuple(pair) for pair in at] == greedy(C, above)[1]
        start += C.size
