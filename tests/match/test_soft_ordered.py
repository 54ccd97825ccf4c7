"""SoftSODA: the notebook's numbers, expected alignments, and the gradient by finite differences."""

import numpy as np
import pytest

from fabula.core.errors import MatrixError, SpecError
from fabula.match import ordered, soft_ordered
from fabula.pair.tiou import tiou
from tests.toys import GOLD, PROPOSALS

SEED = 20220930
SMOOTH = ("logsumexp", "expectation")
IOU = tiou(GOLD, PROPOSALS, eps=1e-5)  # the ε of PDVC's code


def giou(g: np.ndarray, p: np.ndarray, eps: float = 1e-5) -> np.ndarray:
    """Generalised IoU in one dimension, with the same ε: IoU − (hull − union)/hull. [G, P]"""
    inter = np.maximum(0, np.minimum(g[:, None, 1], p[None, :, 1]) - np.maximum(g[:, None, 0], p[None, :, 0]))
    union = np.diff(g) + np.diff(p).T - inter
    hull = np.maximum(g[:, None, 1], p[None, :, 1]) - np.minimum(g[:, None, 0], p[None, :, 0])
    return inter / (union + eps) - (hull - union) / (hull + eps)


GIOU = giou(GOLD, PROPOSALS)


def test_the_toy_matrices_are_the_notebooks():
    assert np.allclose(
        IOU,
        [(0.2857, 0.5, 0, 0, 0, 0), (0, 0.2, 0.1818, 0, 0, 0), (0, 0, 0.2222, 0.25, 0.5, 0)],
        atol=5e-5,
    )
    assert np.allclose(
        GIOU,
        [
            (0.2857, 0.5, -0.1786, -0.56, -0.5357, -0.675),
            (-0.25, 0.2, 0.1818, -0.2632, -0.2727, -0.5294),
            (-0.7241, -0.5, 0.2222, 0.25, 0.5, -0.2941),
        ],
        atol=5e-5,
    )


def test_hard_optimum_on_giou(kernels):
    value, pairs = ordered(GIOU)
    assert value == pytest.approx(1.181817, abs=1e-6)
    assert pairs == [(0, 1), (1, 2), (2, 4)]


VALUES = [  # γ, logsumexp, expectation
    (0, -1.181817, -1.181817),
    (0.01, -1.181817, -1.181817),
    (0.1, -1.256286, -1.059663),
    (1, -6.056663, 0.036935),
]


@pytest.mark.parametrize(("gamma", "logsumexp", "expectation"), VALUES)
def test_values_of_the_notebook_toy(gamma, logsumexp, expectation, kernels):
    assert soft_ordered(-GIOU, gamma)[0] == pytest.approx(logsumexp, abs=1e-6)
    assert soft_ordered(-GIOU, gamma, "expectation")[0] == pytest.approx(expectation, abs=1e-6)


def test_the_notebook_prints_a_third_of_it():
    assert round(soft_ordered(-GIOU, 0.01, "expectation")[0] / 3, 4) == -0.3939


def test_expected_alignment_on_giou():
    _, E = soft_ordered(-GIOU, 0.1)
    expected = [
        (0.1820, 0.7892, 0.0002, 0, 0, 0),
        (0.0001, 0.0878, 0.5993, 0.0065, 0.0001, 0),
        (0, 0, 0.0107, 0.0658, 0.8965, 0.0004),
    ]
    assert np.allclose(E, expected, atol=6e-5)


def test_expected_alignment_on_iou():
    value, E = soft_ordered(-IOU, 0.1)
    expected = [
        (0.1753, 0.7939, 0.0015, 0.0005, 0, 0),
        (0.0006, 0.0806, 0.5503, 0.0832, 0.0017, 0.0006),
        (0, 0.0001, 0.0098, 0.0601, 0.8953, 0.0071),
    ]
    assert value == pytest.approx(-1.265395, abs=1e-6)
    assert np.allclose(E, expected, atol=6e-5)


@pytest.mark.parametrize("gamma", [0.05, 0.1, 1.0])
def test_expected_alignment_is_the_gradient(gamma):
    h = 1e-5
    random = np.random.default_rng(SEED).normal(size=(4, 5))
    for cost in (-GIOU, -IOU, random):
        _, E = soft_ordered(cost, gamma)
        for at in np.ndindex(cost.shape):
            step = np.zeros_like(cost)
            step[at] = h
            slope = (soft_ordered(cost + step, gamma)[0] - soft_ordered(cost - step, gamma)[0]) / (2 * h)
            assert E[at] == pytest.approx(slope, abs=1e-6), (at, gamma)


@pytest.mark.parametrize("smooth", SMOOTH)
def test_rows_and_columns_sum_to_at_most_one(smooth):
    rng = np.random.default_rng(SEED)
    for _ in range(20):
        _, E = soft_ordered(rng.normal(size=rng.integers(1, 7, 2)), rng.uniform(0.01, 2), smooth)
        assert (E >= 0).all()
        assert (E.sum(axis=0) <= 1 + 1e-12).all()
        assert (E.sum(axis=1) <= 1 + 1e-12).all()


def test_by_hand():
    # one cell, cost 0, γ = 1: three equal ways, so −log 3 and a third; as an expectation 0 and a third
    assert soft_ordered([[0]], 1) == (pytest.approx(-np.log(3)), pytest.approx(np.array([[1 / 3]])))
    assert soft_ordered([[0]], 1, "expectation") == (0, pytest.approx(np.array([[1 / 3]])))


@pytest.mark.parametrize("smooth", SMOOTH)
def test_small_gamma_becomes_the_hard_matching(smooth, kernels):
    rng = np.random.default_rng(SEED)
    for _ in range(20):
        C = rng.random(rng.integers(1, 6, 2))
        value, pairs = ordered(C)
        hard = np.zeros_like(C)
        for pair in pairs:
            hard[pair] = 1
        for gamma in (0, 1e-5):
            soft, E = soft_ordered(-C, gamma, smooth)
            assert soft == pytest.approx(-value, abs=1e-3)
            assert np.allclose(E, hard, atol=1e-3)


@pytest.mark.parametrize("smooth", SMOOTH)
@pytest.mark.parametrize("gamma", [0, 0.1])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_empty(shape, gamma, smooth):
    value, E = soft_ordered(np.zeros(shape), gamma, smooth)
    assert value == 0
    assert E.shape == shape


def test_large_costs_do_not_overflow():
    value, E = soft_ordered([[-1e6, 1e6], [1e6, -1e6]], 0.01)
    assert value == pytest.approx(-2e6)
    assert np.allclose(E, np.eye(2))


@pytest.mark.parametrize("gamma", [-1, float("nan"), float("inf")])
def test_bad_gamma(gamma):
    with pytest.raises(SpecError, match="gamma is"):
        soft_ordered([[1]], gamma)


def test_bad_smooth_and_bad_cost():
    with pytest.raises(SpecError, match="smooth is 'max'; it may be logsumexp or expectation"):
        soft_ordered([[1]], 0.1, "max")
    with pytest.raises(MatrixError, match=r"cost\[0, 1\] is nan"):
        soft_ordered([[1, float("nan")]], 0.1)
