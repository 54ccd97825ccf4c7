"""B³, ARI and pairs: by hand, by brute force, and by scikit-learn."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.core.errors import InputError
from fabula.media.people.cluster import impossible_merges
from fabula.media.people.measures import agree

labels = st.lists(st.integers(-1, 4), min_size=1, max_size=25)


def test_by_hand():
    """Truth a a a b b, found 1 1 2 2 2: B³ precision (2·(2/2) + 1/3 + 2·(2/3))/5, recall (2·(2/3) + 1/3 + 2)/5."""
    got = agree([0, 0, 0, 1, 1], [1, 1, 2, 2, 2])
    assert got.b3_precision == pytest.approx((2 + 1 / 3 + 4 / 3) / 5)
    assert got.b3_recall == pytest.approx((4 / 3 + 1 / 3 + 2) / 5)
    assert (
        got.pair_precision == got.pair_recall == pytest.approx(2 / 4)
    )  # pairs 12, 45 of 12, 34, 35, 45 | 12, 13, 23, 45
    assert got.ari == pytest.approx((2 - 16 / 10) / (4 - 16 / 10))


def brute(truth, found):
    t = [("t", v) if v >= 0 else ("alone", i) for i, v in enumerate(truth)]
    f = [("f", v) if v >= 0 else ("alone", i) for i, v in enumerate(found)]
    n = len(t)
    both = [[t[i] == t[j] and f[i] == f[j] for j in range(n)] for i in range(n)]
    precision = sum(sum(both[i]) / sum(f[i] == f[j] for j in range(n)) for i in range(n)) / n
    recall = sum(sum(both[i]) / sum(t[i] == t[j] for j in range(n)) for i in range(n)) / n
    pairs = list(combinations(range(n), 2))
    hit = sum(both[i][j] for i, j in pairs)
    mine, theirs = sum(f[i] == f[j] for i, j in pairs), sum(t[i] == t[j] for i, j in pairs)
    return precision, recall, hit / mine if mine else 1.0, hit / theirs if theirs else 1.0


@given(st.integers(1, 25).flatmap(lambda n: st.tuples(*[st.lists(st.integers(-1, 4), min_size=n, max_size=n)] * 2)))
def test_by_brute_force(both):
    got = agree(*both)
    want = brute(*both)
    assert (got.b3_precision, got.b3_recall, got.pair_precision, got.pair_recall) == pytest.approx(want)


def test_ari_is_scikit_learns():
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 10, 200):
        for k in (1, 2, 5):
            t, f = rng.integers(k, size=n), rng.integers(k + 1, size=n)
            assert agree(t, f).ari == pytest.approx(metrics.adjusted_rand_score(t, f))
    assert agree([0, 1, 2], [5, 3, 4]).ari == metrics.adjusted_rand_score([0, 1, 2], [5, 3, 4]) == 1


@given(labels)
def test_itself_is_one(some):
    t = np.array([v if v >= 0 else 100 + i for i, v in enumerate(some)])
    assert all(value == pytest.approx(1) for _, value in agree(t, t))


def test_impossible_merges_by_hand():
    """Picture 0 has person 1 three times: three pairs; picture 1 twice: one. Nobody is not somebody."""
    assert impossible_merges(np.array([1, 1, 1, 2, 1, 1, -1, -1]), np.array([0, 0, 0, 0, 1, 1, 1, 1])) == 4


@pytest.mark.parametrize(("truth", "found"), [([], []), ([0, 1], [0]), ([0.5], [1]), ([[0]], [0])])
def test_what_does_not_fit(truth, found):
    with pytest.raises(InputError):
        agree(truth, found)
