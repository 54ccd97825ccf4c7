"""The pair extraction of SODA's published code, against a second statement of it in words turned into code."""

import functools
import itertools

import numpy as np
import pytest

from fabula.match import ordered
from fabula.match.ordered import marked_pairs
from tests.toys import FIG3

SEED = 20210513
SKIP_REFERENCE, SKIP_PREDICTION, MATCH = range(3)


def restated(C: np.ndarray) -> list[tuple[int, int]]:
    """Fill by recursion; of skip reference, skip prediction and match the first that is largest is remembered.

    Then, from the bottom row up: the right-most remembered match at or left of the limit is a pair, whatever path
    leads there, and the limit moves left of it.
    """

    @functools.cache
    def cell(i: int, j: int) -> tuple[float, int]:
        before = cell(i - 1, j - 1)[0] if i and j else 0.0
        ways = [
            cell(i - 1, j)[0] if i else -1.0,
            cell(i, j - 1)[0] if j else -1.0,
            before + C[i, j],
        ]
        return max(ways), ways.index(max(ways))

    def walk(i: int, limit: int) -> list[tuple[int, int]]:
        if i < 0 or limit < 0:
            return []
        matches = [j for j in range(limit + 1) if cell(i, j)[1] == MATCH]
        if not matches:
            return walk(i - 1, limit)
        return [*walk(i - 1, matches[-1] - 1), (i, matches[-1])]

    G, P = C.shape
    return walk(G - 1, P - 1)


VECTORS = {
    "V1 not on the best path": ([[0, 1], [0.5, 0]], [(1, 0)]),
    "V2 one pair comes out of a zero": ([[0]], [(0, 0)]),
    "V3 one pair comes out of zeros": ([[0, 0], [0, 0]], [(0, 0)]),
    "V4 PSS Fig. 3": (FIG3, [(0, 0), (1, 1), (2, 3)]),
    "V5": ([[0.2, 0.6, 0.1], [0.5, 0.1, 0.4]], [(0, 1), (1, 2)]),
    "V6": ([[0.9, 0.8], [0.8, 0]], [(0, 0)]),
    "V7 ties go to the skips: the first reference": ([[0.5], [0.5]], [(0, 0)]),
}


@pytest.mark.parametrize(("C", "pairs"), VECTORS.values(), ids=VECTORS.keys())
def test_vectors(C, pairs):
    C = np.asarray(C, dtype=float)
    assert marked_pairs(C) == pairs
    assert restated(C) == pairs


def test_v1_sums_to_less_than_the_value():
    C = np.array([[0, 1], [0.5, 0]])
    assert ordered(C)[0] == 1.0
    assert sum(C[i, j] for i, j in marked_pairs(C)) == 0.5


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_empty(shape):
    assert marked_pairs(np.zeros(shape)) == []


def test_against_the_restatement():
    rng = np.random.default_rng(SEED)
    short = 0
    for n in range(3000):
        shape = tuple(rng.integers(1, 7, 2))
        C = [rng.random(shape), rng.random(shape) * (rng.random(shape) < 0.4), rng.integers(0, 4, shape) / 4][n % 3]
        pairs = marked_pairs(C)
        assert pairs == restated(C), C
        assert pairs, "at least one pair always comes out"
        assert all(a < c and b < d for (a, b), (c, d) in itertools.pairwise(pairs))
        short += sum(C[i, j] for i, j in pairs) < ordered(C)[0] - 1e-12
    assert short > 100  # it is not a back-track, and these matrices show it
