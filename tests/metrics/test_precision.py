"""Average precision from the places of the hits."""

import numpy as np
import pytest

from fabula.metrics.precision import average_precision, thresholds


def ap(*places, npos, **options):
    return average_precision(np.array(places, dtype=np.int64), npos, **options)


def test_half_of_the_references_found():
    """Recall .5: levels 0 to .50 are reached, 51 of 100."""
    assert ap(1, npos=2) == pytest.approx(51 / 100)
    assert ap(1, npos=2, levels=101) == pytest.approx(51 / 101)
    assert ap(1, npos=2, grid="float32") == pytest.approx(51 / 100)
    assert ap(1, npos=2, grid="accumulated") == pytest.approx(50 / 100)


def test_precision_is_the_best_from_a_level_on():
    """Hits at places 2 and 3: precision 1/2, then 2/3, which also serves the levels before it."""
    assert ap(2, 3, npos=2) == pytest.approx(2 / 3)
    assert ap(1, 4, npos=2) == pytest.approx((51 * 1 + 49 * 1 / 2) / 100)


def test_ends():
    assert ap(npos=3) == 0
    assert ap(1, npos=1) == ap(1, npos=1, levels=101) == 1


def test_adding_up_a_hundredth_misses_what_it_should_meet():
    grid = thresholds(100, "accumulated")
    assert grid[50] == 0.5000000000000002 and len(grid) == 100 and grid[-1] < 1 < grid[-1] + 0.02
    t, n = 0.0, 0
    while t <= 1:  # the loop of the published program
        t, n = t + 0.01, n + 1
    assert n == 100
