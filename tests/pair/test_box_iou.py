"""Overlap of boxes, in fractions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.pair.box_iou import box_iou


def one(a, b, pixel=0):
    return box_iou(np.array([a], dtype=float), np.array([b], dtype=float), pixel)[0, 0]


@pytest.mark.parametrize(
    ("a", "b", "pixel", "expected"),
    [
        ([0, 0, 10, 10], [0, 0, 10, 10], 0, 1),
        ([0, 0, 10, 10], [5, 0, 15, 10], 0, 50 / 150),
        ([0, 0, 10, 10], [10, 0, 20, 10], 0, 0),  # they touch
        ([0, 0, 9, 9], [9, 0, 18, 9], 1, 10 / 190),  # with whole pixels, they share a column
        ([0, 0, 99, 99], [0, 0, 99, 94], 1, 0.95),
        ([0, 0, 99, 79], [0, 0, 99, 64], 1, 0.8125),
        ([0, 0, 99, 99], [0, 0, 99, 64], 1, 0.65),
        ([5, 5, 5, 5], [5, 5, 5, 5], 1, 1),  # one pixel
        ([5, 5, 5, 5], [5, 5, 5, 5], 0, 0),  # no area
        ([10, 0, 0, 10], [0, 0, 10, 10], 0, 0),  # turned round
    ],
)
def test_pairs(a, b, pixel, expected):
    assert one(a, b, pixel) == expected == one(b, a, pixel)


def test_shapes():
    assert box_iou(np.zeros((0, 4)), np.zeros((3, 4))).shape == (0, 3)
    assert box_iou(np.zeros((2, 4)), np.zeros((0, 4))).shape == (2, 0)


side = st.floats(-100, 100, allow_nan=False)


@given(st.tuples(side, side, side, side), st.tuples(side, side, side, side), st.sampled_from([0, 1]))
def test_between_0_and_1_and_the_same_both_ways(a, b, pixel):
    assert 0 <= one(a, b, pixel) <= 1 + 1e-9
    assert one(a, b, pixel) == one(b, a, pixel)
