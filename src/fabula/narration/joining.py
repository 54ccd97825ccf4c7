"""Events of overlapping windows → the events of the film, by ordered matching (match/ordered.py) in the overlaps.

Of two windows A and B that share the stretch [b, a] (b: where B starts, a: where A ends), the events of both that
reach into it are cut to it, and matched in order where their IoU there is 1/2 or more. Two that match are one event:

    start   A's where B cannot have seen it (A's lies before b); else that of the window whose edge is farther away
    end     B's where A cannot have seen it; else likewise
    words   of the window that saw more of it; A's of equals

Windows that do not overlap: an event that ends at the edge goes on in one that begins there in the same words.
What has no partner stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fabula.match.ordered import ordered
from fabula.narration.reading import Happening
from fabula.narration.windows import DIGITS, Window
from fabula.pair.tiou import tiou

ALIKE = 0.5  # IoU in the overlap
EDGE = 0.01  # seconds


@dataclass(slots=True)
class Joined:
    """An event of the film, and the windows that saw it."""

    start: float
    end: float
    caption: str
    visible: float  # seconds of it that the window saw whose words it has
    windows: list[int]

    def to_dict(self) -> dict[str, object]:
        return {"start": self.start, "end": self.end, "caption": self.caption, "windows": self.windows}


def join_windows(windows: Sequence[tuple[Window, Sequence[Happening]]]) -> list[Joined]:
    """The events of all windows, in the order of their times."""
    events: list[Joined] = []
    last: Window | None = None
    for window, found in windows:
        fresh = [Joined(e.start, e.end, e.caption, e.end - e.start, [window.index]) for e in found]
        if last is not None:
            fresh = take_over(events, fresh, last, window)
        events += fresh
        last = window
    return sorted(events, key=lambda e: (e.start, e.end))


def take_over(events: list[Joined], fresh: list[Joined], a: Window, b: Window) -> list[Joined]:
    """What is new in window b; the events that go on from window a are changed in place."""
    if b.start >= a.end:
        return continue_words(events, fresh, a.end, b.start)
    tail = sorted((e for e in events if e.end > b.start), key=lambda e: (e.start, e.end))
    head = sorted((e for e in fresh if e.start < a.end), key=lambda e: (e.start, e.end))
    if not tail or not head:
        return fresh
    spans = [np.array([[max(e.start, b.start), min(e.end, a.end)] for e in group]) for group in (tail, head)]
    C = tiou(spans[0], spans[1])
    _, pairs = ordered(np.where(C >= ALIKE, C, 0.0))
    for i, j in pairs:
        merge(tail[i], head[j], a, b)
    partners = {id(head[j]) for _, j in pairs}
    return [e for e in fresh if id(e) not in partners]


def merge(one: Joined, other: Joined, a: Window, b: Window) -> None:
    """`one` of window a and `other` of window b as one event, in the place of the first."""
    middle = (b.start + a.end) / 2
    if one.start >= b.start + EDGE and other.start > b.start + EDGE and one.start > middle:
        one.start = other.start
    if other.end > a.end - EDGE or one.end > a.end - EDGE or one.end > middle:
        one.end = other.end
    if other.visible > one.visible:
        one.caption, one.visible = other.caption, other.visible
    one.windows += other.windows
    one.start, one.end = round(one.start, DIGITS), round(max(one.start, one.end), DIGITS)


def continue_words(events: list[Joined], fresh: list[Joined], edge: float, start: float) -> list[Joined]:
    """Windows side by side: the same words at both sides of the edge are one event."""
    open_events = {same(e.caption): e for e in events if e.end >= edge - EDGE}
    rest = []
    for event in fresh:
        before = open_events.get(same(event.caption)) if event.start <= start + EDGE else None
        if before is None:
            rest.append(event)
        else:
            before.end = event.end
            before.windows += event.windows
    return rest


def same(caption: str) -> str:
    return " ".join(caption.lower().split()).rstrip(".!")
