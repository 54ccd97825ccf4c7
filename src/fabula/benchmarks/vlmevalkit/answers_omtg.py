"""VLMEvalKit's reader of OMTG-Bench answers (vlmeval/dataset/omtgbench.py): all windows that run forwards."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from fabula.core.patterns import lazy
from fabula.io.answers.readers.base import Reader, Window, clock_seconds

PLAIN = r"(\d+(?:\.\d+)?)"
CLOCK = r"(\d+(?::\d+(?:\.\d+)?)?(?:\.\d+)?)"
WORD = r"(\S+?)(?:\s+seconds?)?"  # ends as soon as it may: of "ends at 95" it takes the 9
TAGGED = lazy(r"<time>(\S+?)\s*-\s*(\S+?)\s*seconds?</time>", re.IGNORECASE)
IN_SECONDS = lazy(rf"{CLOCK}\s*-\s*{CLOCK}\s*seconds?", re.IGNORECASE)
OTHERS: tuple[tuple[re.Pattern[str], Callable[[str], float]], ...] = (
    (lazy(rf"starts\s+at\s+{WORD}\s+and\s+ends\s+at\s+{WORD}", re.IGNORECASE), clock_seconds),
    (lazy(rf"start\s+is\s+at\s+{WORD}\s+and\s+(?:the\s+)?end\s+is\s+at\s+{WORD}", re.IGNORECASE), clock_seconds),
    (lazy(rf"{PLAIN}\s+to\s+{PLAIN}", re.IGNORECASE), float),
    (lazy(rf"(?<!\d){PLAIN}\s*-\s*{PLAIN}(?!\s*(?:seconds?|</time>))", re.IGNORECASE), float),
    (lazy(rf"\[\s*{PLAIN}\s*,\s*{PLAIN}\s*\]", re.IGNORECASE), float),
)


def read(text: str) -> list[Window]:
    for pattern in (TAGGED, IN_SECONDS):
        if found := forwards(pattern.findall(text), clock_seconds):
            return sorted(found, key=first)
    every = [window for pattern, seconds in OTHERS for window in forwards(pattern.findall(text), seconds)]
    return list(dict.fromkeys(sorted(every, key=first)))


def first(window: Window) -> float:
    return window[0]


def forwards(found: Iterable[tuple[str, str]], seconds: Callable[[str], float]) -> list[Window]:
    """The windows whose end comes after their start; what is no time is passed over."""
    out = []
    for a, b in found:
        try:
            window = seconds(a), seconds(b)
        except ValueError:
            continue
        if window[1] > window[0]:
            out.append(window)
    return out


READER = Reader(
    name="omtg",
    about="<time>a - b seconds</time>, else a - b seconds, else all of: starts/ends at, a to b, a - b, [a, b]",
    read=read,
    repository="github.com/open-compass/VLMEvalKit",
    commit="e8e78f0",
)
