"""The checks that formats of regions share: a box is four finite numbers, a caption text."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from fabula.data.regions import Boxes, Form, Picture
from fabula.documents.fields import Source, plain_caption

NUMBERS = {int, float}


def build_picture(
    source: Source, id: str, boxes: Any, captions: Any, scores: Any, form: Form, size: tuple[float, float] | None = None
) -> Picture:
    """An image from parallel lists."""
    boxes = source.listing(boxes, "boxes", id)
    captions = source.listing(captions, "captions", id)
    for name, other in (("captions", captions), ("scores", scores)):
        if other is not None and len(source.listing(other, name, id)) != len(boxes):
            raise source.wrong(f"{len(boxes)} boxes, but {len(other)} {name}", id, name, "give one for each box")
    words = (plain_caption(c) or source.caption(c, f"captions[{i}]", id) for i, c in enumerate(captions))
    sure = None if scores is None else np.array(check_numbers(source, scores, "scores", id), dtype=np.float64)
    return Picture(id, build_boxes(source, boxes, id), tuple(words), sure, form, size)


def build_boxes(source: Source, boxes: Sequence[Any], id: str) -> Boxes:
    """[N, 4]"""
    flat = array("d")
    for i, box in enumerate(boxes):
        flat.extend(check_box(source, box, f"boxes[{i}]", id))
    return np.frombuffer(flat, dtype=np.float64).reshape(-1, 4) if flat else np.zeros((0, 4))


def check_box(source: Source, box: Any, what: str, id: str) -> Sequence[float]:
    if type(box) is not list or len(box) != 4:
        box = source.listing(box, what, id, "a box is a list of four numbers")
        if len(box) != 4:
            raise source.wrong(f"expected four numbers, saw {len(box)}", id, what, "a box is a list of four numbers")
    return check_numbers(source, box, what, id)


def check_numbers(source: Source, values: Sequence[Any], what: str, id: str) -> Sequence[float]:
    """The values when all are finite numbers; else the first that is none is named."""
    if set(map(type, values)) <= NUMBERS:
        try:
            if math.isfinite(sum(values)):
                return values
        except OverflowError:
            pass
    return [source.number(value, f"{what}[{i}]", id) for i, value in enumerate(values)]


def read_size(source: Source, entry: dict[str, Any], id: str) -> tuple[float, float] | None:
    """Width and height of an image, where it says both."""
    if "width" not in entry or "height" not in entry:
        return None
    return source.number(entry["width"], "width", id), source.number(entry["height"], "height", id)
