"""What a sign is by its place and how long it stays: a logo, a burnt-in subtitle, or any other sign.

logo       small, within a quarter of the picture from a side and from top or bottom, still, for most of the film
subtitle   level and still, its middle near the middle of the picture, in the lowest (or uppermost) part, not long;
           where two such lines stand at one height, all that are there are subtitles
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fabula.data.transcripts import Sign, SignKind
from fabula.media.signs.base import Box

CORNER = 0.25  # of the picture's width and height
LOGO_WIDTH, LOGO_HEIGHT, LOGO_TIME = 0.3, 0.15, 0.6  # shares of the picture, and of the film
LOGO_LEAST = 5.0  # seconds; in shorter films all signs stay for most of the film
LOW, HIGH = 0.72, 0.2  # where the middle of a subtitle lies below or above
CENTRED = 0.15  # how far from the middle of the picture
SUBTITLE_LONGEST, SUBTITLE_HEIGHT = 12.0, 0.16  # seconds; share of the picture for one line
STILL = 0.02  # share of the picture that a text may move


@dataclass(frozen=True)
class Placed:
    """A sign, and how far it moved: three quarters of its looks had its middle within so much of the median place."""

    sign: Sign
    moved: float


def name_kinds(placed: Sequence[Placed], duration: float) -> list[Sign]:
    """The signs of a film, each with its kind."""
    lines = [p for p in placed if could_be_subtitle(p)]
    named = []
    for p in placed:
        kind: SignKind = "sign"
        if is_logo(p, duration):
            kind = "logo"
        elif p in lines and (is_low(p.sign.box) or any(at_one_height(p, other) for other in lines)):
            kind = "subtitle"
        named.append(replace(p.sign, kind=kind))
    return named


def is_logo(placed: Placed, duration: float) -> bool:
    sign, box = placed.sign, placed.sign.box
    if box is None or placed.moved > 2 * STILL or duration < LOGO_LEAST:
        return False
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    in_corner = min(x, 1 - x) <= CORNER and min(y, 1 - y) <= CORNER
    is_small = box[2] - box[0] <= LOGO_WIDTH and box[3] - box[1] <= LOGO_HEIGHT
    return in_corner and is_small and sign.end - sign.start >= LOGO_TIME * duration


def could_be_subtitle(placed: Placed) -> bool:
    sign, box = placed.sign, placed.sign.box
    if box is None or placed.moved > STILL:
        return False
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    at_place = abs(x - 0.5) <= CENTRED and (y >= LOW or y <= HIGH)
    return at_place and sign.end - sign.start <= SUBTITLE_LONGEST and box[3] - box[1] <= SUBTITLE_HEIGHT


def is_low(box: Box | None) -> bool:
    return box is not None and (box[1] + box[3]) / 2 >= 0.8 and abs((box[0] + box[2]) / 2 - 0.5) <= 0.08


def at_one_height(a: Placed, b: Placed) -> bool:
    """Whether two different texts stand at one height, one after the other."""
    first, second = a.sign, b.sign
    assert first.box is not None and second.box is not None
    if a is b or first.text == second.text or (first.start < second.end and second.start < first.end):
        return False
    return abs((first.box[1] + first.box[3]) - (second.box[1] + second.box[3])) / 2 <= 0.03
