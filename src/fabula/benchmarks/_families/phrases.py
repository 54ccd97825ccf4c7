"""What the two files of lmms-eval's Charades-STA share: phrases that speak of a time, and numbers around a dash."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fabula.core.patterns import lazy
from fabula.io.answers.readers.base import Window, pair_up

EXAMPLE = "a specific example is : 20.8 - 30.0 seconds"  # of its question; a model that repeats it means nothing by it
TELLING = ("start", "end", "happen")  # every longer word that it looks for holds one of these

NUMBER = r"\d+(?:\.\d+)?"
BREAKS = lazy(r"[!?\n]")
RANGE = lazy(rf"({NUMBER})\s*[–-]\s*({NUMBER})")
RANGE_WITH_S = lazy(rf"({NUMBER})\s*s?\s*[–-]\s*({NUMBER})\s*s?")
ALONE = lazy(rf"\b({NUMBER})\b")


def split_phrases(text: str) -> tuple[list[str], list[str]]:
    """All phrases of the answer, and those that speak of a time. Every "to" has become a dash, that of "tomato" too."""
    phrases = BREAKS.split(text.lower().replace(EXAMPLE, "").replace("to", "-"))
    return phrases, [phrase for phrase in phrases if any(word in phrase for word in TELLING)]


def first_ranges(
    phrases: Iterable[str], find: Callable[[str], list[tuple[str, str]]], seconds: Callable[[str], float] = float
) -> list[Window]:
    """The ranges of the first phrase that has any."""
    found = next((ranges for phrase in phrases if (ranges := find(phrase))), [])
    return [(seconds(a), seconds(b)) for a, b in found]


def first_numbers(phrases: Iterable[str]) -> list[Window]:
    """The first number of every phrase, two by two."""
    return pair_up([float(found[0]) for phrase in phrases if (found := ALONE.findall(phrase))])
