"""PLM-VideoBench's reader of windows (Cho et al., 2025; plm_videobench/rtloc): the first [a, b] of unsigned numbers.

It hands the two numbers to Python's own parser: 07 is none there, so that [07, 9] is not read though 07.5 would be.
"""

from __future__ import annotations

from math import isfinite

from fabula.core.patterns import lazy, read_python_literal
from fabula.io.answers.readers.base import Reader, Window

N = r"[0-9]+(?:\.[0-9]+)?"
WINDOW = lazy(rf"\[{N},\s*{N}\]")


def read(text: str) -> list[Window]:
    """Numbers beyond all floats end the published program; here the answer is not read."""
    found = WINDOW.search(text)
    if found is None:
        return []
    try:
        start, end = read_python_literal(found.group())
        window = float(start), float(end)
    except (ValueError, OverflowError):
        return []
    return [window] if all(map(isfinite, window)) else []


READER = Reader(
    name="plm-rtloc",
    about="the first [a, b] with unsigned numbers, no blank before the comma; numbers as Python writes them",
    read=read,
    repository="github.com/EvolvingLMMs-Lab/lmms-eval",
    commit="75571cf",
)
