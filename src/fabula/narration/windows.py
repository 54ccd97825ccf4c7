"""A film as windows of equal length that overlap; an edge lies on a cut of the camera where one is near.

    window k ends at the last cut in its last O/2 seconds, or after L seconds
    window k+1 begins at the last cut in the O/2 seconds before (end − O), or there
    what would be a rest of at most O/2 seconds goes with the window before it

L: length, O: overlap. So a window has at most L + O/2 seconds, and two neighbours share between O and 1.5 O.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from fabula.core.errors import SpecError

MOST = 100_000  # windows of a film
DIGITS = 3  # of the seconds of an edge: what the model reads is what we check against


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a film, in seconds."""

    index: int
    start: float
    end: float

    @property
    def length(self) -> float:
        return self.end - self.start


def cut_windows(duration: float, length: float, overlap: float, cuts: Sequence[float] = ()) -> list[Window]:
    """Windows that cover 0 … duration."""
    if duration / (length - overlap) > MOST:
        raise SpecError(f"windows of {length:g} s would be more than {MOST:,}; choose a longer --window")
    cuts, slack = sorted(round(cut, DIGITS) for cut in cuts), overlap / 2
    windows: list[Window] = []
    start = 0.0
    while True:
        if start + length + slack >= duration:
            windows.append(Window(len(windows), start, duration))
            return windows
        end = find_last_cut(cuts, start + length - slack, start + length)
        windows.append(Window(len(windows), start, end))
        following = find_last_cut(cuts, end - overlap - slack, end - overlap)
        start = following if following > start else end - overlap


def find_last_cut(cuts: Sequence[float], low: float, high: float) -> float:
    """The last cut from `low` to `high`; where there is none, `high`."""
    at = bisect_right(cuts, high)
    return cuts[at - 1] if at and at > bisect_left(cuts, low) else round(high, DIGITS)
