"""E.T. Bench's reader of dense captions (Liu et al., NeurIPS 2024; compute_metrics.py): windows, and words by position.

1. every `a - b` of the lower-cased text; its words are what stands between them, in order, so that words before their
   window shift by one, and a preamble moves all. Pieces of five characters or fewer are none
2. else lists of `start time: a`, `end time: b`, with `description:` lines or those that begin with `*`
3. else the first line (or sentence) of more than seven characters with a time: m:ss, one number, or two. One time t is
   read as t − 20 to t + 20, or as t to t + 40 where t ≤ 20

`start time a, end time b` always fails there, and so it does here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabula.core.patterns import lazy
from fabula.io.answers.readers.base import Window, put_forward

CaptionedWindows = list[tuple[Window, str]]
RADIUS = 20.0
NUMBER = r"\d+\.*\d*"
RANGE = lazy(rf"({NUMBER})\s*-\s*({NUMBER})")
START = lazy(rf"start(?:ing)? time: ({NUMBER})")
END = lazy(rf"end(?:ing)? time: ({NUMBER})")
FAILING = lazy(rf"start time {NUMBER}, end time {NUMBER}")
DESCRIBED = lazy(r"description: (.*)")
STARRED = lazy(r"\*\s*(.*)")
CLOCK = lazy(rf"{NUMBER}:{NUMBER}")
ALONE = lazy(rf"{NUMBER}(?!\.)")


def read_captioned(text: str) -> CaptionedWindows:
    """Windows, the earlier end first, each with its words; none where the program would count the answer as failed."""
    try:
        windows, words = read_lists(text.lower())
    except ValueError:  # a number with two dots
        return []
    if windows is None:
        return []
    told = list(zip(windows, words, strict=False)) or next(read_pieces(text), [])
    return [(put_forward(window), said) for window, said in told]


def read_lists(text: str) -> tuple[list[Window] | None, list[str]]:
    """Windows and words of rules 1 and 2, cut to the shorter list; None where the program gives up."""
    found = list(RANGE.finditer(text))
    pieces: list[str] = []
    windows = [(float(match[1]), float(match[2])) for match in found]
    if found:
        for match in found:
            text = text.replace(match[0], "\n")  # everywhere: also inside a longer time that comes later
        pieces = text.replace("seconds", "").split("\n")
    elif (starts := START.findall(text)) and (ends := END.findall(text)):
        windows = [(float(a), float(b)) for a, b in zip(starts, ends, strict=False)]
        pieces = DESCRIBED.findall(text) or STARRED.findall(text)
    elif FAILING.search(text):
        return None, []
    words = [piece.strip().strip(", ").rstrip() for piece in pieces if len(piece) > 5]
    return windows[: len(words)], words


def read_pieces(text: str) -> Iterator[CaptionedWindows]:
    """Rule 3: the piece that gives a window, alone."""
    whole = text.split("\n") if "\n" in text else [f"{piece}." for piece in text.split(".") if len(piece) > 7]
    for piece in whole:
        if len(piece) > 7:
            parts = [part.strip(",") for part in piece.split("seconds")]
            try:
                window = read_time(parts[0])
            except ValueError:
                continue
            if window is not None:
                yield [(window, parts[-1].strip())]


def read_time(text: str) -> Window | None:
    """The window of a piece, in hundredths of a second; ValueError where a number is none."""
    if found := RANGE.search(text):
        return round(float(found[1]), 2), round(float(found[2]), 2)
    clocks = CLOCK.findall(text)
    colons = text.count(":")
    if colons == 1:
        if not clocks:
            raise ValueError(text)
        return around(clock_whole(clocks[0]))
    if colons == 2:
        start, end = clocks  # ValueError where there are not two
        return clock_whole(start), clock_whole(end)
    times = ALONE.findall(text)
    if len(times) == 1:
        return around(float(times[0]))
    return (round(float(times[0]), 2), round(float(times[1]), 2)) if len(times) == 2 else None


def around(t: float) -> Window:
    ends = (t - RADIUS, t + RADIUS) if t > RADIUS else (t, t + 2 * RADIUS)
    return round(ends[0], 2), round(ends[1], 2)


def clock_whole(clock: str) -> float:
    """m:ss in whole numbers."""
    minutes, seconds = (int(part) for part in re.split(":", clock))
    return float(60 * minutes + seconds)
