"""Time-R1's reader (Wang et al., 2025; evaluate.py): the last `a to b` or `a and b`, what the model thinks included."""

from __future__ import annotations

from fabula.core.patterns import lazy
from fabula.io.answers.readers.base import Reader, Window

RANGE = lazy(r"(\d+\.?\d*) (?:to|and) (\d+\.?\d*)")


def read(text: str) -> list[Window]:
    """It looks into <answer> only where the whole text has nothing, where there is nothing to find either."""
    return [(float(a), float(b)) for a, b in RANGE.findall(text)[-1:]]


READER = Reader(
    name="time-r1",
    about="numbers around 'to' or 'and' with one blank on each side; the last pair of the text, thoughts included",
    read=read,
    repository="github.com/www-Ye/Time-R1",
    commit="d1a0d54",
)
