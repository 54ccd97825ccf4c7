"""Paired tests: as scipy's permutation test on the same rows, uniform where nothing differs, never 0."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from fabula.core.errors import SpecError
from fabula.stats import (
    Mean,
    PairedTest,
    compare,
    difference,
    holm,
    paired_bootstrap,
    randomisation,
    samples,
)
from tests.stats.made import skewed, table


def systems(x: np.ndarray, y: np.ndarray):
    return samples([(table(x), Mean()), (table(y), Mean())])


def gap(x, y, axis=-1):
    return np.mean(x - y, axis=axis)


def scipy_p(x: np.ndarray, y: np.ndarray, trials: int) -> float:
    return scipy_stats.permutation_test(
        (x, y), gap, permutation_type="samples", n_resamples=trials, vectorized=True, rng=np.random.default_rng(9)
    ).pvalue


def test_few_videos_are_exact_as_in_scipy():
    rng = np.random.default_rng(2)
    for _ in range(5):
        x, y = rng.random((11, 1)), rng.random((11, 1)) + 0.1
        assert randomisation(*systems(x, y)) == pytest.approx(scipy_p(x[:, 0], y[:, 0], 10_000))


def test_by_hand():
    """Differences 1, 2, 3: of the 8 signs only + + + and − − − reach 6."""
    assert randomisation(*systems(np.array([[1.0], [2.0], [3.0]]), np.zeros((3, 1)))) == 2 / 8
    # 1 trial that cannot reach it: (0 + 1)/(1 + 1); the + 1 keeps p above 0
    x, y = np.ones((60, 1)), np.zeros((60, 1))
    assert randomisation(*systems(x, y), trials=1) == 1 / 2
    assert randomisation(*systems(x, y), trials=999) == 1 / 1000
    assert randomisation(*systems(x, x), trials=999) == 1.0
    assert paired_bootstrap(*systems(x, x), resamples=999) == 1.0


@pytest.mark.parametrize("shift", [0.0, 0.02, 0.04])
def test_as_scipy_on_the_same_rows(shift):
    rng = np.random.default_rng(4)
    x = skewed(rng, 200, sets=1)
    y = np.clip(x + rng.normal(shift, 0.2, x.shape), 0, 1)
    ours, theirs = randomisation(*systems(x, y)), scipy_p(x[:, 0], y[:, 0], 10_000)
    assert ours == pytest.approx(theirs, abs=0.02)
    assert paired_bootstrap(*systems(x, y)) == pytest.approx(theirs, abs=0.03)


@pytest.mark.parametrize("test", [randomisation, paired_bootstrap])
def test_uniform_under_the_null(test):
    rng = np.random.default_rng(8)
    how = "trials" if test is randomisation else "resamples"
    p = []
    for trial in range(500):
        base = skewed(rng, 80)
        x, y = (np.clip(base + rng.normal(0, 0.1, base.shape), 0, 1) for _ in range(2))
        p.append(test(*systems(x, y), seed=trial, **{how: 499}))
    assert scipy_stats.kstest(p, "uniform").pvalue > 0.01
    assert 0.02 <= np.mean(np.array(p) <= 0.05) <= 0.08


def test_the_interval_of_the_difference_is_paired():
    """Systems that differ by little on videos that differ by much."""
    rng = np.random.default_rng(5)
    x = skewed(rng, 100)
    y = x + 0.01 + rng.normal(0, 0.005, x.shape)
    delta, bounds = difference(*systems(x, y), resamples=2000)
    assert delta == pytest.approx((y - x).mean()) and 0.008 < bounds.low < delta < bounds.high < 0.012


def test_holm_by_hand():
    # sorted .01 .02 .03 .04, times 4 3 2 1: .04 .06 .06 .04, and never less than the one before
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2] and holm([]) == []


def test_three_systems():
    rng = np.random.default_rng(6)
    x = skewed(rng, 100)
    tables = {
        n: (table(np.clip(x + s + rng.normal(0, 0.05, x.shape), 0, 1)), Mean())
        for n, s in zip("abc", (0, 0, 0.1), strict=True)
    }
    seen = compare({"M": tables}, how=PairedTest(resamples=999, seed=1))
    line = seen["M"]
    assert [(d.a, d.b) for d in line.duels] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert line.beaten("c", 0.05) == ["a", "b"] and line.beaten("a", 0.05) == [] and line.beaten("b", 0.05) == []
    assert [d.p_holm for d in line.duels] == holm([d.p for d in line.duels])
    alone = randomisation(*samples([tables["a"], tables["b"]]), trials=999, seed=1)
    assert line.duels[0].p == alone
    assert compare({"M": tables}, how=PairedTest(resamples=999, seed=1, test="bootstrap"))["M"].beaten("c", 0.05) == [
        "a",
        "b",
    ]
    assert "holm" in seen.how and "seed:1" in seen.how
    with pytest.raises(SpecError, match="randomisation, bootstrap"):
        compare({"M": tables}, how=PairedTest(test="t"))
