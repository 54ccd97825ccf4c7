"""Temporal IoU by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.pair.grid import Grid
from fabula.pair.tiou import area_iou, forward, hull_iou, intersection, overlap, shared, tiou
from tests.toys import GOLD_STORIES, PREDICTED_STORIES, story

INF, NAN = float("inf"), float("nan")
SPAN = st.tuples(st.floats(-10, 100), st.floats(-10, 100))
SOUND = st.tuples(st.floats(0, 100), st.floats(0.01, 100)).map(lambda t: (t[0], t[0] + t[1]))


def spans(*pairs):
    return np.array(pairs, dtype=float).reshape(-1, 2)


CASES = {
    "V8 half overlap": ((0, 10), (5, 15), 5 / 15),
    "V8 apart": ((0, 4), (6, 8), 0),
    "V8 zero length": ((3, 3), (0, 10), 0),
    "the same": ((2, 5), (2, 5), 1),
    "inside": ((0, 10), (2, 4), 2 / 10),
    "touching": ((0, 5), (5, 9), 0),
    "reversed": ((0, 10), (8, 2), 0),
    "both reversed": ((10, 0), (10, 0), 0),
    "both zero length": ((3, 3), (3, 3), 0),
    "starts before 0": ((0, 10), (-5, 10), 0),
    "endless": ((0, 10), (0, INF), 0),
    "both endless": ((0, INF), (0, INF), 0),
    "no number": ((0, 10), (NAN, 10), 0),
}


@pytest.mark.parametrize(("g", "p", "expected"), CASES.values(), ids=CASES.keys())
def test_by_hand(g, p, expected):
    assert tiou(spans(g), spans(p)) == pytest.approx(expected)
    assert tiou(spans(p), spans(g)) == pytest.approx(expected)


def test_eps_is_added_to_the_union():
    # published evaluators: identical segments fall just short of 1
    assert tiou(spans((0, 10)), spans((0, 10)), eps=1e-8) == pytest.approx(10 / (10 + 1e-8), rel=1e-15)
    assert tiou(spans((0, 10)), spans((0, 10)), eps=1e-8) < 1
    assert tiou(spans((0, 10)), spans((0, 10))) == 1
    assert tiou(spans((0, 10)), spans((5, 15)), eps=1.0) == pytest.approx(5 / 16)


def test_raw_judges_no_segment():
    assert tiou(spans((0, 10)), spans((-5, 10)), raw=True) == pytest.approx(10 / 15)
    assert tiou(spans((0, 10)), spans((8, 2)), raw=True) == 0  # no shared time either way
    assert tiou(spans((3, 3)), spans((3, 3)), raw=True) == 0


def test_v10_matrix():
    ref, pred = story(*GOLD_STORIES["v_a"]), story(*PREDICTED_STORIES["v_a"]).in_order()
    assert np.allclose(
        tiou(ref.spans, pred.spans, eps=1e-8),
        [(9 / 11, 0, 0, 0), (0, 16 / 20, 18 / 22, 0), (0, 0, 0, 18 / 25)],
        atol=1e-7,
    )


def test_shapes():
    assert tiou(spans((0, 1), (1, 2), (2, 3)), spans((0, 1), (1, 2))).shape == (3, 2)
    assert tiou(spans(), spans((0, 1))).shape == (0, 1)
    assert tiou(spans((0, 1)), spans()).shape == (1, 0)
    assert intersection(spans((0, 4)), spans((1, 2), (6, 9))).tolist() == [[1, 0]]


@settings(deadline=None)
@given(st.lists(SPAN, max_size=4), st.lists(SPAN, max_size=4), st.booleans())
def test_between_0_and_1_whatever_comes_in(g, p, raw):
    iou = tiou(spans(*g), spans(*p), raw=raw)
    assert ((iou >= 0) & (iou <= 1)).all()
    assert np.array_equal(iou.T, tiou(spans(*p), spans(*g), raw=raw))


@settings(deadline=None)
@given(SOUND)
def test_a_sound_segment_is_itself(span):
    assert tiou(spans(span), spans(span)) == pytest.approx(1)


def test_nothing_is_added_and_segments_are_judged_unless_told():
    g, negative = np.array([(0.0, 10.0)]), np.array([(-10.0, 10.0)])
    assert overlap(g, np.array([(0.0, 5.0)])).tolist() == [1 / 2]
    assert tiou(g, negative).tolist() == [[0]] and tiou(g, negative, raw=True).tolist() == [[1 / 2]]
    assert overlap(g, negative).tolist() == [0] and overlap(g, negative, raw=True).tolist() == [1 / 2]
    assert tiou(negative, g).tolist() == [[0]] and tiou(negative, g, raw=True).tolist() == [[1 / 2]]
    assert tiou(g, g, 10.0).tolist() == [[1 / 2]]
    grid = Grid.of([(story((0, 10)), story((-10, 10)))])
    assert grid.iou().tolist() == [0] and grid.iou(raw=True).tolist() == [1 / 2]
    swapped = Grid.of([(story((0, 10)), story((10, 0)))])
    assert swapped.iou().tolist() == swapped.iou(raw=True).tolist() == [0] and swapped.iou(swap=True).tolist() == [1]


def test_three_ways_to_divide():
    """[0, 10] and [5, 20]: 5 shared, hull 20, lengths 10 + 15."""
    g, p, far = np.array([0.0, 10.0]), np.array([5.0, 20.0]), np.array([30.0, 40.0])
    assert (shared(g, p), hull_iou(g, p), area_iou(g, p), overlap(g, p)) == (5, 5 / 20, 5 / 20, 5 / 20)
    assert (shared(g, far), hull_iou(g, far), area_iou(g, far), overlap(g, far)) == (0, 0, 0, 0)
    point = np.array([3.0, 3.0])
    assert hull_iou(point, point) == area_iou(point, point) == 0
    back = np.array([10.0, 0.0])  # reversed: nothing is shared
    assert hull_iou(g, back) == area_iou(g, back) == 0
    assert forward(np.array([(10.0, 0.0), (1.0, 2.0)])).tolist() == [[0, 10], [1, 2]]
    assert intersection(np.array([g, far]), np.array([p])).tolist() == [[5], [0]]
