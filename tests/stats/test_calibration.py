"""Calibration: one Platt fit, and one ECE whose bins are named. By hand, and beside plain arithmetic."""

import math

import numpy as np
import pytest

from fabula.learn.noise import calibrate as captions
from fabula.library import calibrate as queries
from fabula.stats.calibration import Bin, Binning, expected_calibration_error, fit_platt, sigmoid

P, Y = [0.05, 0.15, 0.15, 0.95], [0, 1, 0, 1]


def test_bins_of_equal_mass_and_of_equal_width_by_hand():
    mass, width = Binning(2, "mass").split(P, Y), Binning(2, "width").split(P, Y)
    assert mass == [Bin(pytest.approx(0.1), 0.5, 2), Bin(pytest.approx(0.55), 0.5, 2)]
    assert width == [Bin(pytest.approx(0.35 / 3), pytest.approx(1 / 3), 3), Bin(0.95, 1.0, 1)]
    assert expected_calibration_error(mass) == pytest.approx((2 * 0.4 + 2 * 0.05) / 4)
    assert expected_calibration_error(width) == pytest.approx((3 * abs(0.35 / 3 - 1 / 3) + 0.05) / 4)


@pytest.mark.parametrize("binning", [Binning(3, "mass"), Binning(3, "width")])
def test_ends_empty_bins_and_no_samples(binning):
    assert binning.split([], []) == [] and expected_calibration_error([]) == 0
    assert sum(b.samples for b in binning.split([0.0, 1.0], [0, 1])) == 2  # p = 1 is in the last bin
    assert all(b.samples for b in binning.split([0.5], [1]))


def test_the_bins_are_named_in_print():
    assert str(captions.BINNING) == "15 equal-mass bins" and str(queries.BINNING) == "10 equal-width bins"
    p = np.linspace(0.01, 0.99, 40)
    assert "ECE (10 equal-width bins) 0." in queries.draw(p, p > 0.5, "T").words


def test_the_fit_is_where_the_gradient_is_zero():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(3, 5, 500), rng.normal(size=500)])
    y = rng.random(500) < sigmoid(0.3 * x[:, 0] - x[:, 1] - 1)
    t = np.where(y, (y.sum() + 1) / (y.sum() + 2), 1 / ((~y).sum() + 2))
    *a, b = fit_platt(x, y)
    left = sigmoid(x @ a + b) - t
    assert abs(left.sum()) < 1e-6 and np.abs(x.T @ left).max() < 1e-5
    (scale, zero) = fit_platt(x[:, :1], y, intercept=False)
    assert zero == 0 and abs(x[:, 0] @ (sigmoid(scale * x[:, 0]) - t)) < 1e-5


def test_equal_columns_share_their_weight_and_separable_scores_stay_finite():
    x = np.linspace(-1, 1, 20)
    first, second, _ = fit_platt(np.stack([x, x], 1), x > 0.1, ridge=1e-3)
    assert first == pytest.approx(second) and math.isfinite(first) and first > 0
    assert all(map(math.isfinite, fit_platt(x[:, None], x > 0)))
