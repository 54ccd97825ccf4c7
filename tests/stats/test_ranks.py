"""Rank correlations against scipy, on the numbers drawn out, and by counting pairs; τ by levels is the same τ."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.core.errors import SpecError
from fabula.stats.meta import best_epsilon, tau_by_levels
from fabula.stats.ranks import Ranks, pearson

numbers = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4), st.integers(0, 3)), min_size=2, max_size=25)


def same(found, wanted):
    return (math.isnan(found) and math.isnan(wanted)) or found == pytest.approx(wanted, abs=1e-9)


@pytest.mark.filterwarnings("ignore")
@given(numbers)
def test_weights_are_draws(rows):
    scipy = pytest.importorskip("scipy.stats")
    x, y, w = (np.array(c, dtype=float) for c in zip(*rows, strict=True))
    X, Y = (np.repeat(v, w.astype(int)) for v in (x, y))
    if len(X) < 2 or len(set(X)) < 2 or len(set(Y)) < 2:
        return
    ranks, W = Ranks.of(x, y), w[None]
    assert same(ranks.tau_b(W)[0], scipy.kendalltau(X, Y).statistic)
    assert same(ranks.tau_c(W)[0], scipy.kendalltau(X, Y, variant="c").statistic)
    assert same(ranks.spearman(W)[0], scipy.spearmanr(X, Y).statistic)
    assert same(pearson(x, y, W)[0], scipy.pearsonr(X, Y).statistic)
    _, y_at = np.unique(Y, return_inverse=True)
    for statistic in ("tau_b", "tau_c"):
        drawn = getattr(Ranks.of(X, Y), statistic)()[0]
        assert same(tau_by_levels(X, y_at, int(y_at.max()) + 1, statistic), drawn)


@given(numbers)
def test_accuracy_counts_pairs_of_different_texts(rows):
    x, y, w = (np.array(c, dtype=float) for c in zip(*rows, strict=True))
    right = every = 0.0
    for i, j in combinations(range(len(x)), 2):
        every += w[i] * w[j]
        right += w[i] * w[j] * (np.sign(x[i] - x[j]) == np.sign(y[i] - y[j]))
    found = Ranks.of(x, y).accuracy(w[None])[0]
    assert same(found, right / every if every else float("nan"))


def test_large_and_continuous():
    scipy = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(0)
    x = rng.normal(size=3000)
    y = x + rng.normal(size=3000)
    assert Ranks.of(x, y).tau_b()[0] == pytest.approx(scipy.kendalltau(x, y).statistic, abs=1e-12)


@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(-2, 2)), min_size=1, max_size=20))
def test_the_best_tie(pairs):
    """No other ε does better."""
    dx, dy = (np.array(c, dtype=float) for c in zip(*pairs, strict=True))
    tied = dy == 0

    def accuracy(epsilon):
        near = abs(dx) <= epsilon
        return np.where(tied, near, ~near & (np.sign(dx) == np.sign(dy))).mean()

    found = best_epsilon(dx, dy, tied)
    assert accuracy(found) == max(accuracy(e) for e in range(6))


def test_what_cannot_be_ranked():
    with pytest.raises(SpecError, match="equal length"):
        Ranks.of([1.0], [1.0, 2.0])
    with pytest.raises(SpecError, match="finite"):
        Ranks.of([1.0, float("nan")], [1.0, 2.0])
    assert math.isnan(Ranks.of([1.0, 1.0], [1.0, 2.0]).tau_b()[0])
