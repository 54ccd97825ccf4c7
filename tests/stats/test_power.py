"""How many videos show a difference: the closed form, by hand and by simulated tests; Student's t for few groups."""

import math

import numpy as np
import pytest

from fabula.core.errors import SpecError
from fabula.core.rows import Rows
from fabula.stats.few import student_cdf, student_quantile, widen_level
from fabula.stats.paired import randomisation
from fabula.stats.power import Power, power_of_pair, power_of_pilot
from fabula.stats.sample import Mean, Sample, samples


def rows(scores):
    return Rows.of([{"video": f"v{i:04}", "refset": 0, "value": float(x)} for i, x in enumerate(scores)])


def test_of_a_mean_sigma_is_the_standard_deviation_of_the_differences():
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.4, 0.1, 50), rng.normal(0.45, 0.1, 50)
    found = power_of_pair("x", *samples([(rows(a), Mean()), (rows(b), Mean())]), 0.05, 0.8)
    assert found.sigma == pytest.approx(np.std(b - a, ddof=1)) and found.observed == pytest.approx((b - a).mean())
    z = 1.959964 + 0.841621
    assert found.needed(0.01) == math.ceil((z * found.sigma / 0.01) ** 2)
    assert found.shown_by(found.needed(0.01)) == pytest.approx(0.01, rel=0.01)
    assert found.chance(0.01, found.needed(0.01)) == pytest.approx(0.8, abs=0.01)
    assert found.chance(0.0, 100) == pytest.approx(0.05)


def test_a_pilot_and_a_correlation_give_what_two_such_systems_give():
    rng = np.random.default_rng(1)
    shared, own = rng.normal(0, 1, 20_000), rng.normal(0, 1, (2, 20_000))
    a, b = (0.4 + 0.1 * (math.sqrt(0.75) * shared + 0.5 * e) for e in own)
    pair = power_of_pair("x", *samples([(rows(a), Mean()), (rows(b), Mean())]), 0.05, 0.8)
    alone = power_of_pilot("x", Sample.of(rows(a), Mean()), 0.75, 0.05, 0.8)
    assert alone.sigma == pytest.approx(pair.sigma, rel=0.02) and alone.observed is None


def test_a_test_over_as_many_videos_finds_it_as_often_as_was_said():
    """200 simulated data sets: 80 %, give or take three standard errors."""
    rng = np.random.default_rng(2)
    n = Power("x", 0.05, 100, 0.05, 0.8).needed(0.02)
    found = 0
    for seed in range(200):
        d = rng.normal(0.02, 0.05, n)
        made = samples([(rows(np.zeros(n)), Mean()), (rows(d), Mean())])
        found += randomisation(*made, trials=400, seed=seed) < 0.05
    assert abs(found / 200 - 0.8) < 3 * math.sqrt(0.8 * 0.2 / 200)


def test_what_cannot_be_shown():
    with pytest.raises(SpecError, match=r"no number of videos shows a difference of 0"):
        Power("x", 0.1, 10, 0.05, 0.8).needed(0.0)
    with pytest.raises(SpecError, match=r"one video shows no spread"):
        power_of_pilot("x", Sample.of(rows([0.5]), Mean()), 0.5, 0.05, 0.8)
    assert Power("x", 0.0, 10, 0.05, 0.8).needed(0.1) == 6  # 2/2⁶ is the first p below .05
    assert Power("x", 0.0, 10, 0.05, 0.8).chance(0.1, 10) == 1


TABLE = {1: 12.706, 2: 4.303, 5: 2.571, 10: 2.228, 30: 2.042, 120: 1.980}  # of any textbook, two-sided 5 %


@pytest.mark.parametrize(("df", "t"), TABLE.items())
def test_students_t(df, t):
    assert student_quantile(0.975, df) == pytest.approx(t, abs=5e-4)
    assert student_cdf(0.0, df) == 0.5


def test_few_groups_widen_an_interval_and_many_do_not():
    assert widen_level(0.95, 5) > widen_level(0.95, 10) > widen_level(0.95, 100) > 0.95
    assert widen_level(0.95, 100_000) == pytest.approx(0.95, abs=1e-4)
    assert widen_level(0.95, 2) < 1
