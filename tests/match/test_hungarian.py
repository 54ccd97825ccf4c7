"""Hungarian matching against every permutation."""

import itertools
import sys

import numpy as np
import pytest

from fabula.core.errors import MissingExtra
from fabula.match import hungarian, ordered

SEED = 1955


def brute(C: np.ndarray) -> float:
    if C.shape[0] > C.shape[1]:
        return brute(C.T)
    G, P = C.shape
    return max(sum(C[i, j] for i, j in enumerate(columns)) for columns in itertools.permutations(range(P), G))


def test_against_all_permutations():
    pytest.importorskip("scipy", reason="hungarian needs scipy")
    rng = np.random.default_rng(SEED)
    for _ in range(200):
        C = rng.normal(size=rng.integers(1, 6, 2))
        value, pairs = hungarian(C)
        assert value == pytest.approx(brute(C))
        assert value == pytest.approx(sum(C[i, j] for i, j in pairs))
        assert len(pairs) == min(C.shape)
        assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
        assert pairs == sorted(pairs)


def test_it_crosses_where_ordered_may_not():
    pytest.importorskip("scipy", reason="hungarian needs scipy")
    # Fig. 4 of Batra et al.: the Hungarian pairs are (g1, p2), (g2, p1), the ordered ones (g1, p2), (g2, p3)
    C = [[0.2, 0.6, 0.1], [0.5, 0.1, 0.4]]
    assert hungarian(C) == (pytest.approx(1.1), [(0, 1), (1, 0)])
    assert ordered(C) == (pytest.approx(1.0), [(0, 1), (1, 2)])


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_empty(shape):
    pytest.importorskip("scipy", reason="hungarian needs scipy")
    assert hungarian(np.zeros(shape)) == (0.0, [])


def test_without_scipy_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(MissingExtra, match=r"\[hungarian\]; install it with: pip install '"):
        hungarian([[1.0]])
