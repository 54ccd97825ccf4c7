"""Temporal IoU by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.pair.tiou import intersection, tiou
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
