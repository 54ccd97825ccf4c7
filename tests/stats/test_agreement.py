"""Krippendorff's α against its author's worked example and by brute force; Cohen's κ by pencil and other formulas."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.core.errors import SpecError
from fabula.stats.agreement import alpha, alpha_interval, kappa

# K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section C: four observers, values missing
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
UNITS = [[row[u] for row in OBSERVERS if row[u] is not None] for u in range(12)]


@pytest.mark.parametrize(("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_the_published_example(level, published):
    assert round(alpha(UNITS, level), 3) == published


def test_two_observers_by_pencil():
    """Units (a,a), (a,b), (b,b): o_aa = 2, o_ab = o_ba = 1, o_bb = 2; n = 6, n_a = n_b = 3. α = 1 − 5·2/18 = 4/9."""
    assert alpha([[0, 0], [0, 1], [1, 1]], "nominal") == pytest.approx(4 / 9)


def brute(units, level):
    """By the words of the definition: disagreement among pairs within units, against that among all pairs of values."""
    paired = [unit for unit in units if len(unit) > 1]
    values = sorted(v for unit in paired for v in unit)
    n = len(values)
    count = {v: values.count(v) for v in set(values)}

    def delta(a, b):
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return (a - b) ** 2
        low, high = min(a, b), max(a, b)
        return (sum(count[g] for g in count if low <= g <= high) - (count[a] + count[b]) / 2) ** 2

    within = sum(
        delta(unit[i], unit[j]) / (len(unit) - 1)
        for unit in paired
        for i in range(len(unit))
        for j in range(len(unit))
        if i != j
    )
    every = sum(delta(values[i], values[j]) for i in range(n) for j in range(n) if i != j)
    return 1 - (within / n) / (every / (n * (n - 1)))


@given(
    st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=4), min_size=2, max_size=12),
    st.sampled_from(["nominal", "ordinal", "interval"]),
)
def test_alpha_by_brute_force(units, level):
    paired = [v for unit in units if len(unit) > 1 for v in unit]
    found = alpha(units, level)
    if len(set(paired)) < 2:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(brute(units, level), abs=1e-9)


def test_intervals_hold_the_value():
    low, high = alpha_interval(UNITS, "ordinal", 500)
    assert low < alpha(UNITS, "ordinal") < high
    assert alpha_interval(UNITS[:1], "ordinal") is None
    with pytest.raises(SpecError, match="no level is called 'ratio'"):
        alpha(UNITS, "ratio")


def test_kappa_by_pencil():
    """Cohen 1960's kind of table: 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: p_o = .7, p_e = .5, κ = .4."""
    a = ["yes"] * 25 + ["no"] * 25
    b = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert kappa(a, b) == pytest.approx(0.4)
    assert math.isnan(kappa([1, 1], [1, 1]))
    with pytest.raises(SpecError, match="equal length"):
        kappa([1], [1, 2])
    with pytest.raises(SpecError, match="numbers"):
        kappa(["a", "b"], ["b", "b"], "linear")


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=3, max_size=40))
def test_weighted_kappa_by_other_formulas(pairs):
    """Quadratic κ = 2·cov / (var a + var b + (mean a − mean b)²) (Fleiss & Cohen 1973); linear by distances."""
    a, b = (np.array(x, dtype=float) for x in zip(*pairs, strict=True))
    below = a.var() + b.var() + (a.mean() - b.mean()) ** 2
    if below == 0:
        assert math.isnan(kappa(a.tolist(), b.tolist(), "quadratic"))
        return
    assert kappa(a.tolist(), b.tolist(), "quadratic") == pytest.approx(
        2 * ((a * b).mean() - a.mean() * b.mean()) / below
    )
    expected = np.abs(a[:, None] - b[None, :]).mean()
    assert kappa(a.tolist(), b.tolist(), "linear") == pytest.approx(1 - np.abs(a - b).mean() / expected)
