"""Intervals: as scipy makes them, as often right as they say, and fast."""

import time

import numpy as np
import pytest
from scipy import stats as scipy_stats

from fabula.core.errors import SpecError
from fabula.core.rows import Rows
from fabula.stats import Mean, Resampling, Sample, bca, bootstrap, interval, percentile
from fabula.stats.bootstrap import draws, jackknife
from fabula.stats.choose import choose_apart, choose_intervals
from tests.stats.made import skewed, table


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_as_scipy_makes_them(method):
    x = np.random.default_rng(3).gamma(1.5, size=80)
    ours = interval(Sample.of(table(x[:, None]), Mean()), method=method, resamples=40_000, seed=1)
    theirs = scipy_stats.bootstrap(
        (x,), np.mean, n_resamples=40_000, method={"bca": "BCa"}.get(method, method), rng=np.random.default_rng(2)
    ).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.01 * x.std())


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_samples_of_equal_size_share_their_draws(method):
    chance, how = np.random.default_rng(5), Resampling(resamples=300, seed=2, method=method)
    some = [Sample.of(table(chance.random((n, 1))), Mean()) for n in (60, 12, 60, 60, 12, 7)]
    assert choose_apart(some, how) == [choose_intervals({"x": s}, how)["x"] for s in some]


@pytest.mark.parametrize("videos", [1, 7, 5000])
def test_weights_count_what_was_drawn(videos, kernels):
    rng = np.random.default_rng(9)
    drawn = rng.integers(0, videos, (230, videos))  # more than one block of 5,000 videos
    found = np.concatenate(list(draws(videos, 230, 9)))
    assert found.shape == drawn.shape and (found.sum(axis=1) == videos).all()
    assert all(np.array_equal(np.bincount(line, minlength=videos), w) for line, w in zip(drawn, found, strict=True))


def test_bca_by_hand():
    """x = 0, 0, 3: leaving one out gives 1.5, 1.5, 0; d = −.5, −.5, 1, so a = .75 / (6·1.5^1.5)."""
    sample = Sample.of(table(np.array([[0.0], [0.0], [3.0]])), Mean())
    assert jackknife(sample) == pytest.approx([1.5, 1.5, 0.0])
    theta = np.linspace(0, 2, 2001)  # the value 1 in the middle: z₀ = 0
    a, z = 0.75 / (6 * 1.5**1.5), 1.959963985
    expected = [2 * scipy_stats.norm.cdf(q / (1 - a * q)) for q in (-z, z)]
    assert bca(theta, 1.0, jackknife(sample)) == pytest.approx(expected, abs=1e-3)
    assert percentile(theta) == pytest.approx((0.05, 1.95))


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_coverage(method):
    """95 % intervals hold the true mean in 93 to 97 of 100 simulated data sets; a video's two sets go together."""
    rng = np.random.default_rng(11)
    covered = 0
    for trial in range(1000):
        low, high = interval(Sample.of(table(skewed(rng, 120)), Mean()), method=method, resamples=600, seed=trial)
        covered += low <= 0.3 <= high
    assert 930 <= covered <= 970


def test_drawing_rows_instead_of_videos_would_be_too_sure():
    """What clusters are for: rows on their own cover far less than 95 %."""
    rng = np.random.default_rng(12)
    covered = 0
    for trial in range(200):
        values = skewed(rng, 60, sets=8).ravel()
        low, high = interval(Sample.of(table(values[:, None]), Mean()), method="percentile", resamples=300, seed=trial)
        covered += low <= 0.3 <= high
    assert covered < 160


def test_numbers_that_are_all_the_same():
    for value in (0.0, 0.7):
        sample = Sample.of(table(np.full((9, 2), value)), Mean())
        assert interval(sample, resamples=50) == pytest.approx((value, value))
    assert interval(Sample.of(table(np.array([[0.4]])), Mean()), resamples=50) == pytest.approx((0.4, 0.4))


def test_a_wider_level_holds_a_narrower():
    sample = Sample.of(table(skewed(np.random.default_rng(1), 50)), Mean())
    wide, narrow = (interval(sample, level=level, resamples=2000) for level in (0.99, 0.8))
    assert wide.low < narrow.low < sample.value < narrow.high < wide.high


def test_what_is_refused():
    sample = Sample.of(table(np.ones((3, 1))), Mean())
    with pytest.raises(SpecError, match="between 0 and 1"):
        interval(sample, level=95)
    with pytest.raises(SpecError, match="bca, percentile"):
        interval(sample, method="normal")
    with pytest.raises(SpecError, match="at least 1"):
        Resampling(resamples=0)
    assert str(Resampling(seed=4)) == "bca-0.95-10000-seed4"


def test_ten_thousand_resamples_of_five_thousand_videos():
    rng = np.random.default_rng(0)
    sample = Sample.of(table(skewed(rng, 5000)), Mean())
    started = time.process_time()
    interval(sample, resamples=10_000)
    assert time.process_time() - started < 5


def test_draws_are_multinomial():
    rows = Rows.of([{"video": v, "value": float(v == "a")} for v in "abcd"])
    theta = bootstrap([Sample.of(rows, Mean())], 20_000, seed=1)[0] * 4  # how often a was drawn
    assert theta.mean() == pytest.approx(1, abs=0.03) and theta.var() == pytest.approx(4 * 0.25 * 0.75, abs=0.03)
