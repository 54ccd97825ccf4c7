"""Forms of boxes: what the file declares, as corners."""

import numpy as np
import pytest

from fabula.data.regions import Box, Picture, Region, corners


@pytest.mark.parametrize("pixel", [0, 1])
@pytest.mark.parametrize(
    ("form", "box"),
    [("xywh", [10, 20, 30, 40]), ("xcycwh", [25, 40, 30, 40])],
)
def test_the_side_of_a_box_is_its_width(form, box, pixel):
    x1, y1, x2, y2 = corners(np.array([box], dtype=float), form, pixel)[0]
    assert (x2 - x1 + pixel, y2 - y1 + pixel) == (30, 40)


def test_forms_mean_the_same_box():
    same = {"xywh": [10, 20, 30, 40], "xyxy": [10, 20, 40, 60], "xcycwh": [25, 40, 30, 40]}
    for form, box in same.items():
        assert corners(np.array([box], dtype=float), form).tolist() == [[10, 20, 40, 60]]


def test_densecap_centre_to_corners():
    """x1 = xc − (w − 1)/2: a box of 100 pixels around 49.5 goes from pixel 0 to pixel 99."""
    assert corners(np.array([[49.5, 49.5, 100, 100]]), "xcycwh", 1).tolist() == [[0, 0, 99, 99]]


def test_a_picture_tells_its_regions():
    picture = Picture("i", np.array([[0.0, 0, 2, 3]]), ("a dog",), np.array([0.5]))
    assert list(picture) == [Region(Box(0, 0, 2, 3), "a dog", 0.5)]
    assert list(Picture("i", picture.boxes, ("a dog",))) == [Region(Box(0, 0, 2, 3), "a dog")]
    assert Box(0, 0, 1, 1).sound and not Box(1, 0, 0, 1).sound and not Box(0, 0, 1, 0).sound
