"""Temporal NMS: the vector of the VERIFIED spec, and the plain loop."""

import numpy as np
import pytest

from fabula.core.errors import SpecError
from fabula.match.nms import nms, shifted_nms
from tests.moment_toys import iou


def plain_nms(rows, threshold, top=100):
    """[start, end, score, …] rows, best first: keep one, strike out what overlaps it too much, go on."""
    left, kept = sorted(rows, key=lambda r: -r[2]), []
    while left and len(kept) < top:
        first, *left = left
        kept.append(first)
        left = [r for r in left if not iou(first[:2], r[:2]) > threshold]
    return kept


def test_the_vector_of_the_spec():
    spans = [[0, 10], [0, 6], [5, 15], [20, 30]]
    assert nms(spans, [0.9, 0.8, 0.7, 0.1], 0.5).tolist() == [0, 2, 3]  # IoU .6 goes, 5/15 stays


def test_the_border_stays():
    assert nms([[0, 10], [0, 5]], [1, 0.5], 0.5).tolist() == [0, 1]  # IoU 1/2 is not more than 1/2
    assert nms([[0, 10], [0, 5]], [1, 0.5], 0.49).tolist() == [0]


def test_each_video_on_its_own():
    spans = [[0, 10], [0, 10], [0, 10]]
    assert nms(spans, [0.5, 0.9, 0.8], 0.5, videos=[7, 3, 7]).tolist() == [1, 2]


def test_ties_go_by_video_then_by_list():
    spans = [[0, 1], [5, 6], [2, 3], [7, 8]]
    assert nms(spans, [1, 1, 1, 1], 0.5, videos=[2, 1, 2, 1]).tolist() == [0, 2, 1, 3]


def test_no_more_than_top():
    spans = [[i, i + 1] for i in range(9)]
    assert nms(spans, range(9), 0.5, top=3).tolist() == [8, 7, 6]
    assert len(nms(spans, range(9), 0.5, top=None)) == 9
    assert nms([], [], 0.5).tolist() == []


def test_the_slip_compares_video_and_start_and_sorts_by_end():
    # Rows [video 0, start, end]: by end 20 (start 9), 12 (start 10), 11 (start 1). [0, 9] and [0, 10] overlap by .9.
    spans = [[1, 11], [10, 12], [9, 20]]
    assert shifted_nms(spans, [0.9, 0.8, 0.7], 0.5, [0, 0, 0]).tolist() == [2, 0]
    assert nms(spans, [0.9, 0.8, 0.7], 0.5).tolist() == [0, 1, 2]


@pytest.mark.parametrize("seed", range(5))
def test_against_the_plain_loop(seed):
    rng = np.random.default_rng(seed)
    starts = rng.integers(0, 30, 60) / 2
    rows = np.column_stack([starts, starts + rng.integers(1, 12, 60) / 2, rng.permutation(60) / 60])
    kept = nms(rows[:, :2], rows[:, 2], 0.4)
    assert rows[kept].tolist() == plain_nms(rows.tolist(), 0.4)


def test_refusals():
    with pytest.raises(SpecError, match="between 0 and 1"):
        nms([[0, 1]], [1], 1.5)
    with pytest.raises(SpecError, match="one score per window"):
        nms([[0, 1]], [1, 2], 0.5)
