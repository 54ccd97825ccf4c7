"""The nouns of dense image captioning: Box, Region, Picture. Boxes stay as their file declares them until measured.

    xywh    left, top, width, height             COCO, Visual Genome, DenseCap's output
    xyxy    left, top, right, bottom
    xcycwh  centre, then width and height        inside DenseCap

Where `pixel` is 1, right and bottom are the last pixel inside (a box from 0 to 99 is 100 wide), else the edge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Form = Literal["xywh", "xyxy", "xcycwh"]
FORMS: tuple[Form, ...] = get_args(Form)

Boxes = NDArray[np.float64]  # [N, 4]


@dataclass(frozen=True, slots=True)
class Box:
    """Left, top, right, bottom, in pixels."""

    x1: float
    y1: float
    x2: float
    y2: float

    @property
    def sound(self) -> bool:
        """False for a box that is turned round or has no area: it overlaps nothing."""
        return self.x1 < self.x2 and self.y1 < self.y2


@dataclass(frozen=True, slots=True)
class Region:
    """A piece of an image: where, in which words, and how sure the system is (None for a reference)."""

    box: Box
    caption: str
    score: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """The regions of one image, in file order."""

    id: str
    boxes: Boxes  # [N, 4] as the file has them
    captions: tuple[str, ...]  # N
    scores: NDArray[np.float64] | None = None  # [N]; None in references
    form: Form = "xywh"
    size: tuple[float, float] | None = None  # width, height, where the file says so

    def __len__(self) -> int:
        return len(self.captions)

    def __iter__(self) -> Iterator[Region]:
        scores = [None] * len(self) if self.scores is None else self.scores.tolist()
        for corner, caption, score in zip(self.corners().tolist(), self.captions, scores, strict=True):
            yield Region(Box(*corner), caption, score)

    def corners(self, pixel: int = 0) -> Boxes:
        """Left, top, right, bottom. [N, 4]"""
        return corners(self.boxes, self.form, pixel)


def corners(boxes: Boxes, form: Form, pixel: int = 0) -> Boxes:
    """Boxes of a form as left, top, right, bottom; from a width, the right side is left + width − pixel. [N, 4]"""
    if form == "xyxy":
        return boxes
    with np.errstate(over="ignore", invalid="ignore"):  # readers refuse boxes so far out
        first, size = boxes[:, :2], boxes[:, 2:] - pixel
        if form == "xcycwh":
            first = first - size / 2
        return np.concatenate([first, first + size], axis=1)
