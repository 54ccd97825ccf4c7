"""What a reader of windows is: the words of an answer in, its windows out, as one published evaluator reads them.

The window that an evaluator scores stands first. Readers reproduce: they take `10.5s - 12.0s` for (10, 12) where their
evaluator does. The default, `fabula`, is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Window = tuple[float, float]
CaptionedWindow = tuple[Window, str]  # with the words that belong to it


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    name: str
    about: str
    read: Callable[[str], Sequence[Window]]
    tell: Callable[[str], Sequence[CaptionedWindow]] | None = None  # where its evaluator reads captions too: stories
    repository: str = ""
    commit: str = ""


def pair_up(times: Sequence[float]) -> list[Window]:
    """First and second, third and fourth, …; an odd one at the end is nobody's."""
    return list(zip(times[::2], times[1::2], strict=False))


def put_forward(window: Window) -> Window:
    """The earlier end first."""
    start, end = window
    return (start, end) if end > start else (end, start)


def clock_seconds(clock: str) -> float:
    """m:s or h:m:s in seconds; a plain number is seconds already. ValueError where it is none of these."""
    *hours, minutes, seconds = (0.0, 0.0, *(float(part) for part in clock.strip().split(":")))[-3:]
    if clock.count(":") > 2:
        raise ValueError(clock)
    return hours[0] * 3600 + minutes * 60 + seconds
