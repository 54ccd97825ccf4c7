"""Few videos: intervals that hold what they say, or none; McNemar's test of hits."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats as scipy_stats

from fabula.core.rows import Rows
from fabula.stats import Mean, PairedTest, Resampling, Sample, compare, interval, samples
from fabula.stats.bootstrap import bootstrap
from fabula.stats.choose import choose_intervals, tell_choices
from fabula.stats.few import bound_mean, count_carriers
from fabula.stats.paired import mcnemar
from tests.stats.made import skewed, table

HOW = Resampling(resamples=400)


def chosen(values, folding=None, how=HOW):
    return choose_intervals({"x": Sample.of(table(np.asarray(values)[:, None]), folding or Mean())}, how)["x"]


@pytest.mark.parametrize(("hits", "n"), [(0, 8), (8, 8), (3, 20), (1, 50), (49, 50)])
def test_hits_have_the_exact_interval(hits, n):
    """Clopper & Pearson's, by scipy."""
    found = bound_mean(np.repeat([1.0, 0.0], [hits, n - hits]), 0.0, 1.0, resamples=40_000)
    exact = scipy_stats.binomtest(hits, n).proportion_ci(0.95, "exact")
    assert found == pytest.approx((exact.low, exact.high), abs=0.006)


def near_one(rng, n):
    """What captions of ground-truth segments score in mIoU: 1, and 0 where nothing was told; skewness −2.9."""
    return np.where(rng.random(n) < 0.088, 0.0, 1.0 - 1e-4 * rng.random(n))


def small_and_skewed(rng, n):
    """What a video LLM scores in SODA_c."""
    return np.where(rng.random(n) < 0.3, 0.0, rng.gamma(1.0, 0.012, n).clip(0, 1))


def rare_hits(rng, n):
    return (rng.random(n) < 0.02).astype(float)


@pytest.mark.parametrize("world", [near_one, small_and_skewed, rare_hits])
@pytest.mark.parametrize("n", [5, 15, 50])
def test_few_videos_hold_what_they_say(world, n):
    """At least 93 of 100; a quarter of the samples of 15 near_one videos hold no silent one."""
    rng = np.random.default_rng(n)
    truth, held = world(rng, 400_000).mean(), []
    for seed in range(300):
        low, high = chosen(world(rng, n), how=Resampling(resamples=200, seed=seed)).interval
        held.append(low <= truth <= high)
    assert np.mean(held) >= 0.93


def test_many_videos_have_the_interval_of_the_bootstrap():
    sample = Sample.of(table(skewed(np.random.default_rng(3), 250)), Mean())
    found = choose_intervals({"x": sample}, HOW)["x"]
    assert found == (interval(sample, resamples=400), "bca", "")
    wide = choose_intervals({"x": sample}, HOW, wide=True)["x"].interval  # groups
    assert wide.low < found.interval.low and wide.high > found.interval.high


def test_what_carries_the_spread():
    assert count_carriers(np.ones(9)) == 0
    assert count_carriers(np.repeat([0.0, 1.0], [3, 97])) == pytest.approx(3.1, abs=0.2)
    assert count_carriers(np.random.default_rng(0).normal(size=3000)) == pytest.approx(1000, rel=0.1)
    few = chosen(np.repeat([0.0, 1.0], [3, 297]))
    assert few.method == "bounded" and few.reason.startswith("the spread rests on 3 of 300 {units}")


def test_too_few_have_no_interval_and_the_reason():
    found = chosen([0.1, 0.2, 0.3, 0.4])
    assert found.interval is None
    assert tell_choices([("a", found), ("b", found), ("a", found)], "videos") == [
        "a, b: 4 videos are too few, an interval needs 5; no interval"
    ]
    assert chosen([0.1, 0.2, 0.3, 0.4, 0.5]).method == "bounded"
    assert chosen([0.1, np.nan, 0.3, 0.4, 0.5]).interval is None


def test_a_number_without_a_highest_value_needs_a_spread():
    assert chosen([30.0, 30.0, 30.0, 30.0, 30.0, 90.0]).interval is None
    low, high = chosen(30 + np.random.default_rng(1).normal(size=40)).interval
    assert 0 <= low < 30 < high < 40

    @dataclass(frozen=True)
    class Tall(Mean):
        highest: float = 100.0

    low, high = chosen([30.0, 30.0, 30.0, 30.0, 30.0, 90.0], Tall()).interval
    assert 0 <= low < 40 < high <= 100


def test_the_scale_is_not_left():
    low, high = chosen([0.98, 1.0, 1.0, 0.97, 0.99, 1.0]).interval
    assert 0 <= low < 0.99 <= high <= 1
    rows = Rows.of({"video": k, "value": float(k > 2)} for k in range(12))  # videos of one to nine queries
    rows = Rows(rows.keys, rows.refset, rows.columns, clusters=(0, 1, 2, 3, *[4] * 8))
    low, high = choose_intervals({"x": Sample.of(rows, Mean())}, HOW)["x"].interval
    assert 0 <= low < 0.75 < high <= 1


def test_a_difference_of_few_pairs_holds_what_it_says():
    rng = np.random.default_rng(5)
    held, exists = [], []
    for seed in range(150):
        a = near_one(rng, 15)
        b = np.where(rng.random(15) < 0.05, 0.0, a)  # truth: −.05 of the mean
        seen = compare(
            {"M": {"a": (table(a[:, None]), Mean()), "b": (table(b[:, None]), Mean())}},
            how=PairedTest(resamples=200, seed=seed),
        )
        bounds = seen["M"].duels[0].interval
        exists.append(bounds is not None)
        held.append(bounds.low <= -0.05 * 0.912 <= bounds.high)
    assert all(exists) and np.mean(held) >= 0.93
    assert any("15 videos are too few for a bootstrap" in line for line in seen.warnings)
    assert seen["M"].duels[0].ci_method == "bounded" and "|ci:bounded-0.95|" in seen.how


def hits(*some):
    return samples([(table(np.array(x, dtype=float)[:, None]), Mean()) for x in some])


def test_mcnemar_as_scipy():
    rng = np.random.default_rng(4)
    for n in (6, 40, 900):
        a, b = (rng.random(n) < 0.4), (rng.random(n) < 0.5)
        found = mcnemar(*hits(a, b))
        only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
        assert found[:2] == (only_a, only_b)
        assert found.p == pytest.approx(scipy_stats.binomtest(only_a, only_a + only_b).pvalue, abs=1e-12)
    assert mcnemar(*hits(a, a)) == (0, 0, 1.0)
    assert mcnemar(*hits([1, 0, 1], [0.5, 0, 1])) is None  # no hits


def test_a_comparison_of_hits_tells_mcnemars_p():
    rng = np.random.default_rng(6)
    first = rng.random(80) < 0.3
    a, b = first.astype(float), (first | (rng.random(80) < 0.3)).astype(float)
    tables = {"R1": {"a": (table(a[:, None]), Mean()), "b": (table(b[:, None]), Mean())}}
    (duel,) = compare(tables, how=PairedTest(resamples=500))["R1"].duels
    assert duel.mcnemar.only_a == 0 and duel.mcnemar.p == 2 / 2**duel.mcnemar.only_b
    rows = table(a[:, None])
    shared = Rows(rows.keys, rows.refset, rows.columns, clusters=tuple(k // 2 for k in range(80)))
    seen = compare({"R1": {"a": (shared, Mean()), "b": (shared, Mean())}}, how=PairedTest(resamples=50))
    assert any("McNemar's p takes queries of one video as independent" in line for line in seen.warnings)


def test_the_same_draws_serve_all_scores():
    sample = Sample.of(table(skewed(np.random.default_rng(3), 260)), Mean())
    both = choose_intervals({"x": sample, "y": sample}, HOW)
    assert both["x"] == both["y"] and bootstrap([sample], 400, 0).shape == (1, 400)
