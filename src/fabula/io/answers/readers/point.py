"""Our own reader of single moments: the first time of the answer itself that says it is one, else its first number.

A clock or a unit says so: "In the 2 minute video the best moment is at 0:15" means 15. A length that comes before a
noun ("2 minute video") is skipped where another time follows. A window is meant as a whole: its ends are given.
"""

from __future__ import annotations

import re

from fabula.core.patterns import lazy
from fabula.io.answers.readers.base import Reader, Window
from fabula.io.answers.readers.fabula import answer_in, read_all, scan
from fabula.io.answers.times import PLAIN

LENGTH = lazy(r"[\s-]*(?:long\b|video|clip|film|movie|in length)", re.IGNORECASE)


def read(text: str) -> list[Window]:
    if not text.isascii():
        text = text.translate(PLAIN)
    if "<" in text:
        text = answer_in(text)
    if windows := read_all(text):
        return windows[:1]
    times = scan(text)
    told = [t for t in times if t.scale is not None and not LENGTH.match(text, t.end)]
    if not (first := next(iter(told or times), None)):
        return []
    at = first.value * (first.scale or 1.0)
    return [(at, at)]


READER = Reader(
    name="point",
    about="one moment, after all thought, in <answer>: a window, else the first clock or unit of time, else a number",
    read=read,
)
