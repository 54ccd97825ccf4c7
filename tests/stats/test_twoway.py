"""Means over answers that share raters and items: by pencil, at their edges, do intervals cover; t against scipy."""

import math

import numpy as np
import pytest

from fabula.core.errors import SpecError
from fabula.stats.student import t_cdf, t_p, t_power, t_quantile
from fabula.stats.twoway import freedom, mean_of


def test_by_pencil():
    """Two raters × two items, 1 0 / 1 1: mean ¾, e = ¼ −¾ ¼ ¼.
    Rater sums −½, ½: V_R = 2·(½)/16 = 1/16. Item sums ½, −½: V_I = 1/16. V_RI = (3·1/16 + 9/16)/16 = 3/64. V = 5/64.
    V²/Σ V_G²/(G − 1) = .61, less than one rater and one item less than all: ν = 1."""
    found = mean_of([1, 0, 1, 1], ["a", "a", "b", "b"], [1, 2, 1, 2])
    assert found.value == 0.75 and found.se == pytest.approx(math.sqrt(5 / 64))
    assert found.nu == 1
    assert freedom(5.0, (2.0, 4), (3.5, 9), (0.5, 36)) == pytest.approx(25 / (4 / 4 + 12.25 / 9 + 0.25 / 36))
    assert (found.answers, found.raters, found.items) == (4, 2, 2)


def test_edges():
    alone = mean_of([1, 0], ["a", "a"], [1, 2])
    assert alone.interval is None and math.isnan(alone.se) and alone.p() is None
    sure = mean_of([1.0] * 12, list("aabbccddeeff"), [1, 2] * 6, share=True)
    assert sure.value == 1 and sure.interval.high == 1 and sure.interval.low < 0.9  # all agree: not certain for that
    assert freedom(0.0, (0.0, 3), (0.0, 5), (0.0, 9)) == 3
    with pytest.raises(SpecError, match="no answers"):
        mean_of([], [], [])


@pytest.mark.parametrize(
    ("raters", "items", "rater", "item"), [(3, 30, 0.05, 0.2), (10, 100, 0.05, 0.2), (10, 60, 0.0, 0.0)]
)
def test_intervals_cover(raters, items, rater, item):
    """±1 choices, three raters an item; 400 studies, 95 % intervals: 0 lies in 92 to 99 of a hundred."""
    rng = np.random.default_rng(5)
    hit = 0
    for _ in range(400):
        who = np.concatenate([rng.permutation(raters)[:3] for _ in range(items)])
        what = np.repeat(np.arange(items), 3)
        lean = rng.normal(0, rater**0.5, raters)[who] + rng.normal(0, item**0.5, items)[what]
        y = np.where(rng.random(len(who)) < (1 + np.clip(lean, -1, 1)) / 2, 1.0, -1.0)
        low, high = mean_of(y.tolist(), who.tolist(), what.tolist()).interval
        hit += low <= 0 <= high
    assert 0.92 <= hit / 400 <= 0.99, hit / 400


def test_shares_near_one_are_covered():
    """p = .95: Wilson's interval with the answers' worth."""
    rng = np.random.default_rng(6)
    hit = 0
    for _ in range(300):
        who, what = np.tile(np.arange(10), 30), np.repeat(np.arange(100), 3)
        low, high = mean_of((rng.random(300) < 0.95).tolist(), who.tolist(), what.tolist(), share=True).interval
        hit += low <= 0.95 <= high
    assert hit / 300 >= 0.92


def test_student_against_scipy():
    ss = pytest.importorskip("scipy.stats")
    for nu in (1, 2.5, 7, 40, 3000):
        for t in (-3.0, 0.0, 0.2, 2.0, 12.0):
            assert t_p(t, nu) == pytest.approx(2 * ss.t.sf(abs(t), nu), abs=1e-12)
            assert t_cdf(t, nu) == pytest.approx(ss.t.cdf(t, nu), abs=1e-12)
        for p in (0.01, 0.5, 0.9, 0.975, 0.9995):
            assert t_quantile(p, nu) == pytest.approx(ss.t.ppf(p, nu), abs=1e-7, rel=1e-7)
    for nu in (2, 9, 99):
        t = ss.t.ppf(0.975, nu)
        for delta in (0.0, 1.0, 2.8):
            exact = ss.nct.sf(t, nu, delta) + ss.nct.cdf(-t, nu, delta)
            assert t_power(delta, nu) == pytest.approx(exact, abs=1e-5)
    assert t_p(1.0, 0) == 1 and t_power(1.0, 0) == 0 and t_quantile(0.9, 0) == math.inf
