"""What a format of regions is, and the checks they share: a box is four finite numbers, a caption text."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fabula.core.regions import Boxes, Form, Picture
from fabula.io._fields import Source, plain_caption

NUMBERS = {int, float}


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionFormat:
    """A file format of boxes with captions. `sniff` sees how the file begins: `[` or `{`, and the first keys."""

    name: str
    about: str
    holds: Literal["references", "predictions", "either"]
    sniff: Callable[[str, Sequence[str]], bool]
    read: Callable[[Source, Form], Iterator[Picture]]
    lines: bool = False  # JSON Lines
    forms: tuple[Form, ...] = ("xywh", "xyxy", "xcycwh")  # the first unless another is declared
    example: str = ""  # a whole file as small as can be


def picture(
    source: Source, id: str, boxes: Any, captions: Any, scores: Any, form: Form, size: tuple[float, float] | None = None
) -> Picture:
    """An image from parallel lists."""
    boxes = source.listing(boxes, "boxes", id)
    captions = source.listing(captions, "captions", id)
    for name, other in (("captions", captions), ("scores", scores)):
        if other is not None and len(source.listing(other, name, id)) != len(boxes):
            raise source.wrong(f"{len(boxes)} boxes, but {len(other)} {name}", id, name, "give one for each box")
    words = (plain_caption(c) or source.caption(c, f"captions[{i}]", id) for i, c in enumerate(captions))
    sure = None if scores is None else np.array(numbers(source, scores, "scores", id), dtype=np.float64)
    return Picture(id, table(source, boxes, id), tuple(words), sure, form, size)


def table(source: Source, boxes: Sequence[Any], id: str) -> Boxes:
    """[N, 4]"""
    flat = array("d")
    for i, box in enumerate(boxes):
        flat.extend(four(source, box, f"boxes[{i}]", id))
    return np.frombuffer(flat, dtype=np.float64).reshape(-1, 4) if flat else np.zeros((0, 4))


def four(source: Source, box: Any, what: str, id: str) -> Sequence[float]:
    if type(box) is not list or len(box) != 4:
        box = source.listing(box, what, id, "a box is a list of four numbers")
        if len(box) != 4:
            raise source.wrong(f"expected four numbers, saw {len(box)}", id, what, "a box is a list of four numbers")
    return numbers(source, box, what, id)


def numbers(source: Source, values: Sequence[Any], what: str, id: str) -> Sequence[float]:
    """The values when all are finite numbers; else the first that is none is named."""
    if set(map(type, values)) <= NUMBERS:
        try:
            if math.isfinite(sum(values)):
                return values
        except OverflowError:
            pass
    return [source.number(value, f"{what}[{i}]", id) for i, value in enumerate(values)]


def size_of(source: Source, entry: dict[str, Any], id: str) -> tuple[float, float] | None:
    """Width and height of an image, where it says both."""
    if "width" not in entry or "height" not in entry:
        return None
    return source.number(entry["width"], "width", id), source.number(entry["height"], "height", id)
