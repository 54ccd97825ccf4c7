"""Scores as probabilities: maps by pencil and against scikit-learn, errors by hand, files that belong to a recipe."""

import json

import numpy as np
import pytest

from fabula.core.errors import InputError, SpecError
from fabula.library import calibrate as c
from fabula.stats.calibration import fit_isotonic, fit_platt


def simulated(n, seed, gain=4.0):
    """Queries whose true probability is known: a sigmoid of the score; lifts say nothing."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n)
    p = 1 / (1 + np.exp(-(gain * score - 1)))
    return c.Sample(score, rng.normal(size=n), rng.random(n) < p), p


def test_a_sigmoid_that_is_there_is_found():
    sample, _ = simulated(20_000, 0)
    a, b = fit_platt(sample.x("score"), sample.present, ridge=c.RIDGE)
    assert (a, b) == (pytest.approx(4, abs=0.2), pytest.approx(-1, abs=0.1))


def test_against_scikit_learn():
    linear = pytest.importorskip("sklearn.linear_model")
    isotonic = pytest.importorskip("sklearn.isotonic")
    sample, _ = simulated(4000, 1)
    theirs = linear.LogisticRegression(C=1e6).fit(sample.x("both"), sample.present)
    ours = fit_platt(sample.x("both"), sample.present, ridge=c.RIDGE)
    assert ours == pytest.approx([*theirs.coef_[0], theirs.intercept_[0]], abs=0.05)  # Platt's targets differ a little
    steps = isotonic.IsotonicRegression().fit(sample.score, sample.present).predict(sample.score)
    knots = np.array(fit_isotonic(sample.score, sample.present))
    assert np.abs(np.interp(sample.score, *knots.T) - steps).mean() < 0.03
    assert (np.diff(knots[:, 1]) >= 0).all() and (np.diff(knots[:, 0]) > 0).all()


def test_isotonic_by_pencil():
    """Labels 0 1 0 1 in order of x: the middle two are one block of a half."""
    knots = fit_isotonic(np.array([1.0, 2, 3, 4]), np.array([False, True, False, True]))
    assert [x for x, _ in knots] == [1.0, 2.5, 4.0]
    assert [p for _, p in knots] == pytest.approx([1 / 6, 1 / 2, 5 / 6])  # never quite 0 or 1: 1 / (n + 2)
    assert fit_isotonic(np.ones(4), np.array([False, True, True, True])) == ((1.0, 0.75),)  # equal scores are one


def test_what_is_fitted_is_calibrated_elsewhere():
    fitted, _ = simulated(4000, 2)
    left, truth = simulated(4000, 3)
    made = c.fit(fitted)
    p = made.many(left.score, left.lift)
    assert made.on in ("score", "both")  # the lifts are noise
    assert c.calibration_error(p, left.present) < 0.03
    assert np.abs(p - truth).mean() < 0.03
    assert c.calibration_error(np.full(len(p), 0.99), left.present) > 0.3


def test_the_error_by_hand():
    p, y = np.array([0.1, 0.1, 0.9, 0.9]), np.array([False, True, True, True])
    assert c.calibration_error(p, y) == pytest.approx((2 * abs(0.5 - 0.1) + 2 * abs(1 - 0.9)) / 4)
    assert [b.samples for b in c.reliability(p, y)] == [2, 2]
    assert c.calibration_error(np.array([1.0, 0.0]), np.array([True, False])) == 0


def test_what_a_threshold_costs():
    p, y = np.array([0.2, 0.6, 0.4, 0.9]), np.array([False, False, True, True])
    (trade,) = c.trade_off(p, y, [0.5])
    assert (trade.refused, trade.lost) == (0.5, 0.5)
    assert c.trade_off(p, y)[0][1:] == (0.0, 0.0)


def test_too_few_queries_are_refused():
    sample, _ = simulated(30, 0)
    with pytest.raises(SpecError, match="needs 10 of each"):
        c.fit(sample.take(sample.present))


def test_kept_with_its_recipe(tmp_path):
    sample, _ = simulated(200, 0)
    made = c.fit(sample, {"embedder": "offline", "size": (1, 2)})
    made.save(tmp_path / "calibration.json")
    back = c.Calibration.load(tmp_path / "calibration.json", c.as_json({"embedder": "offline", "size": (1, 2)}))
    assert back(0.3, 1.0) == made(0.3, 1.0)
    with pytest.raises(InputError, match="a store of the embedder offline, not of other"):
        c.Calibration.load(tmp_path / "calibration.json", {"embedder": "other"})


@pytest.mark.parametrize(
    "change",
    [
        {"fabula-calibration": 2},
        {"kind": "x"},
        {"weights": [1]},
        {"weights": ["a", "b"]},
        {"knots": 3},
        {"kind": "isotonic", "knots": []},
        {"weights": [float("nan"), 1.0]},
        {"weights": [10**400, 1.0]},
        {"kind": "isotonic", "knots": [[0.0, 0.1], [1.0, 900.0]]},
        {"kind": "isotonic", "knots": [[0.0, -0.1], [1.0, 0.5]]},
        {"kind": "isotonic", "knots": [[1.0, 0.1], [0.0, 0.5]]},
        {"kind": "isotonic", "knots": [[0.0, 0.5], [1.0, 0.1]]},
    ],
)
def test_damaged_files_cost_one_line(tmp_path, change):
    path = tmp_path / "calibration.json"
    c.Calibration("sigmoid", "score", (1.0, 0.0)).save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError):
        c.Calibration.load(path)


def test_the_figure_is_drawn():
    from fabula.report.drawing.panels import as_file

    sample, p = simulated(500, 0)
    drawn = as_file(c.draw(p, sample.present, "T <b>"))
    assert drawn.startswith("<svg") and "reliability" in drawn and "<b>" not in drawn
