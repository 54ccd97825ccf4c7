"""Merging references and serving detections, as DenseCap does."""

import numpy as np
import pytest

from fabula.match.boxes import find_priors, merge_boxes, serve
from fabula.pair.box_iou import box_iou


def groups(*boxes):
    corners = np.array(boxes, dtype=float).reshape(-1, 4)
    return merge_boxes(lambda at: box_iou(corners[at], corners, 1), len(corners), 0.7, 100)


def merged(iou, threshold):
    """The rule on the whole matrix, with sets of neighbours."""
    good = iou >= threshold
    np.fill_diagonal(good, True)
    near = {i: set(np.flatnonzero(row).tolist()) for i, row in enumerate(good)}
    found, alone = [], set(near)
    while near and len(group := near[max(near, key=lambda i: len(near[i]))]) > 1:
        found.append(sorted(group))
        alone -= group
        near = {i: those - group for i, those in near.items() if i not in group}
    return found + [[i] for i in sorted(alone)]


def test_two_that_overlap_by_95_percent_are_one():
    assert groups([0, 0, 99, 99], [0, 0, 99, 94], [200, 200, 299, 299]) == [[0, 1], [2]]


def test_a_chain_is_taken_by_its_middle():
    """IoU .8, .8125 and .65: the middle box has three good ones, itself among them."""
    assert groups([0, 0, 99, 99], [0, 0, 99, 79], [0, 0, 99, 64]) == [[0, 1, 2]]


def test_neighbours_of_a_neighbour_are_not_taken():
    """Heights 100, 80, 64, 52: each overlaps the next by .8 or more, not the one after (.64, .65)."""
    assert groups([0, 0, 99, 99], [0, 0, 99, 79], [0, 0, 99, 63], [0, 0, 99, 51]) == [[0, 1, 2], [3]]


def test_the_first_of_equals_leads():
    assert groups([0, 0, 9, 9], [50, 50, 59, 59], [50, 50, 59, 59], [0, 0, 9, 9]) == [[0, 3], [1, 2]]


def test_nothing_and_boxes_alone():
    assert groups() == []
    assert groups([5, 5, 5, 5]) == [[0]]
    assert groups([5, 5, 4, 4], [5, 5, 4, 4]) == [[0], [1]]  # a box without area still stands for itself


def test_the_best_reference_is_picked_even_when_it_is_taken():
    served = serve([np.array([[0.9, 0.6, 0.0], [0.0, 0.5, 0.0]])])
    assert served.picked.tolist() == [0, 0, -1]
    assert served.first.tolist() == [True, False, False]
    assert served.iou.tolist() == [0.9, 0.6, 0]
    assert find_priors(served).tolist() == [0, 0.9, 0]


def test_of_equal_overlaps_the_first_reference_is_picked():
    assert serve([np.array([[0.5], [0.5]])]).picked.tolist() == [0]


def test_a_stray_detection_may_use_up_the_last_reference():
    served = serve([np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])], stray=1)
    assert served.picked.tolist() == [1, 0, 1] and served.first.tolist() == [True, True, False]


def test_without_references_nobody_is_served():
    served = serve([np.zeros((0, 2))], stray=-1)
    assert served.picked.tolist() == [-1, -1] and not served.first.any()


@pytest.mark.parametrize("step", [1, 3, 100])
def test_boxes_merged_some_rows_at_a_time_give_the_same_groups(step):
    rng = np.random.default_rng(step)
    for _ in range(60):
        near = rng.random((n := int(rng.integers(0, 14)), n))
        near = np.maximum(near, near.T)
        for threshold in (0.5, 0.8, 0.97):
            rows = merge_boxes(lambda at, near=near: near[at].copy(), n, threshold, step)
            assert rows == merged(near, threshold)


def test_detections_served_some_at_a_time_get_the_same():
    iou = np.random.default_rng(1).random((4, 30)).round(1)
    iou[:, ::7] = 0
    for stray in (-1, 3):
        parts = serve([iou[:, :1], iou[:, 1:20], iou[:, 20:]], stray)
        assert [a.tolist() for a in parts] == [a.tolist() for a in serve([iou], stray)]
