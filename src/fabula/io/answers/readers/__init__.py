"""Readers of windows, one published evaluator a file: the same answer is (1, 2) for one and (10.5, 12) for another."""

from __future__ import annotations

import re
from typing import Any

from fabula.core.errors import SpecError
from fabula.core.patterns import lazy
from fabula.core.registry import IndexedRoom
from fabula.io.answers.readers.base import CaptionedWindow, Reader, Window


def check_reader(thing: Any) -> str | None:
    from fabula.core.plugins import check_object

    if problem := check_object(thing, Reader, "reader of answers"):
        return problem
    fits = callable(thing.read) and (thing.tell is None or callable(thing.tell)) and isinstance(thing.about, str)
    return None if fits else "leads to a reader whose `read` or `tell` cannot be called, or whose `about` is no text"


READERS = IndexedRoom(
    "READERS",
    "READER",
    "reader of answers",
    files="fabula.io.answers.readers",
    group="fabula.readers",
    check=check_reader,
)
OWN = ("fabula", "point")  # which take "frames 10 to 20" for no time, unless frames are what is counted
FRAME = lazy(r"\bframes?\b[\s#:]{0,3}", re.IGNORECASE)


def read_frames(name: str, text: str, pace: float | None) -> list[Window]:
    """What a reader finds in an answer that counts frames, in seconds: number × pace; None: it counts seconds."""
    read = READERS.get(name).read
    if pace is None:
        return list(read(text))
    return [(a * pace, b * pace) for a, b in read(FRAME.sub(" ", text) if name in OWN else text)]


def find_telling(name: str) -> Reader:
    """The reader of this name, if it reads stories: windows and the words of each."""
    found: Reader = READERS.get(name)
    if found.tell is None and found.name != "fabula":  # ours for stories is answer.parse
        able = ", ".join(["fabula", *(r.name for r in READERS.all() if r.tell is not None)])
        raise SpecError(f"the reader {found.name} finds windows and no captions; of stories there are: {able}")
    return found


__all__ = ["READERS", "CaptionedWindow", "Reader", "Window", "find_telling", "read_frames"]
