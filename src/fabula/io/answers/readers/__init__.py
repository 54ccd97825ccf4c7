"""Readers of windows, one published evaluator a file: the same answer is (1, 2) for one and (10.5, 12) for another."""

from __future__ import annotations

import re

from fabula.core.patterns import lazy
from fabula.core.registry import Room
from fabula.io.answers.readers.base import Reader, Window

READERS = Room("fabula.io.answers.readers", "READER", "reader of answers", group="fabula.readers")
OWN = ("fabula", "point")  # which take "frames 10 to 20" for no time, unless frames are what is counted
FRAME = lazy(r"\bframes?\b[\s#:]{0,3}", re.IGNORECASE)

__all__ = ["READERS", "Reader", "Window", "read_frames"]


def read_frames(name: str, text: str, pace: float | None) -> list[Window]:
    """What a reader finds in an answer that counts frames, in seconds: number × pace; None: it counts seconds."""
    read = READERS.get(name).read
    if pace is None:
        return list(read(text))
    return [(a * pace, b * pace) for a, b in read(FRAME.sub(" ", text) if name in OWN else text)]
