"""The analysis of variance: by pencil, against its own identities, and against scipy where it is installed."""

import numpy as np
import pytest

from fabula.core.errors import SpecError
from fabula.stats.factorial import analyse_variance, find_effect

# two factors of two levels, two videos, all numbers by hand:
#   v1   b1 b2        v2   b1 b2        means of cells   1  3   rows 2, 5   columns 3, 4   all 3.5
#   a1   0  2         a1   2  4                          5  5
#   a2   4  6         a2   6  4
Y = np.array([[[0, 2], [2, 4]], [[4, 6], [6, 4]]], dtype=float)


def test_by_pencil():
    found = analyse_variance(Y, ["a", "b"], resamples=50)
    a, b, ab = found.effects
    assert [e.name for e in found.effects] == ["a", "b", "a × b"]
    # a: means 2 and 5, ∓1.5; eight numbers: 8 · 2.25 = 18. b: means 3 and 4, ∓0.5: 8 · 0.25 = 2
    # a × b: 1 − 2 − 3 + 3.5 = −0.5, and so on: 8 · 0.25 = 2. videos: means 3 and 4: 2
    assert (a.ss, b.ss, ab.ss, found.videos) == pytest.approx((18, 2, 2, 2))
    # squares of all numbers 128, less 8 · 3.5² = 98: 30; what is left of it: 30 − 22 − 2 = 6
    assert (found.total, found.rest) == pytest.approx((30, 6))
    assert (a.share, b.share, ab.share) == pytest.approx((18 / 22, 2 / 22, 2 / 22))
    # a with videos: v1 means 1, 5; v2 3, 5. Their differences 4 and 2 are ∓1 from 3: ±0.5 → 8 · 0.25 = 2: F = 18/2
    assert a.f == pytest.approx(9) and a.df == 1
    # F with 1 and 1 degrees: t = 3 with 1, p = 1 − 2/π · arctan 3
    assert a.p == pytest.approx(1 - 2 / np.pi * np.arctan(3))


def test_the_parts_make_the_whole():
    y = np.random.default_rng(1).normal(size=(2, 3, 2, 7))
    found = analyse_variance(y, ["a", "b", "c"], resamples=20)
    assert found.settings + found.videos + found.rest == pytest.approx(found.total)
    assert sum(e.share for e in found.effects) == pytest.approx(1)
    assert sum(e.df for e in found.effects) == 11 and len(found.effects) == 7
    effect = find_effect(y, (0, 1))
    assert effect.shape == (2, 3, 1, 1) and np.abs(effect.sum(0)).max() < 1e-12 > np.abs(effect.sum(1)).max()


def test_one_factor_is_the_paired_t_test():
    y = np.random.default_rng(2).normal(size=(2, 12))
    (effect,) = analyse_variance(y, ["a"], resamples=20).effects
    d = y[1] - y[0]
    t = d.mean() / (d.std(ddof=1) / np.sqrt(12))
    assert effect.f == pytest.approx(t**2)
    scipy = pytest.importorskip("scipy.stats")
    assert effect.p == pytest.approx(float(scipy.f.sf(t**2, 1, 11)))
    wide = analyse_variance(np.random.default_rng(3).normal(size=(4, 9)), ["a"], resamples=20).effects[0]
    assert wide.p == pytest.approx(float(scipy.f.sf(wide.f, 3, 24)))


def test_a_factor_that_does_nothing_has_no_share_and_intervals_hold_what_is_known():
    rng = np.random.default_rng(4)
    y = np.repeat(rng.normal(size=(3, 1, 40)) + np.array([0, 1, 3]).reshape(3, 1, 1), 2, axis=1)
    a, b, ab = analyse_variance(y, ["a", "b"], resamples=200).effects
    assert b.ss == ab.ss == 0 and a.share == 1 and a.interval == (1, 1)
    assert np.isnan(b.f) and a.p < 1e-6
    same = analyse_variance(np.ones((2, 2, 3)), ["a", "b"], resamples=10)
    assert [e.share for e in same.effects] == [0, 0, 0] and same.total == 0


def test_what_cannot_be_analysed():
    with pytest.raises(SpecError, match="two levels"):
        analyse_variance(np.ones((1, 5)), ["a"])
    (effect,) = analyse_variance(np.array([[1.0], [2.0]]), ["a"], resamples=10).effects
    assert effect.ss == 0.5 and np.isnan(effect.f)
