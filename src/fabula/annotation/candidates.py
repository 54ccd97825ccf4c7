"""Screens candidate captions: rejects those that state a time, copy, change nothing or repeat."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LONGEST = 80  # words of a caption
NUMBERS = "one two three four five six seven eight nine ten twelve fifteen twenty thirty half several"
COUNTS = rf"(?:\d+(?:\.\d+)?|{'|'.join(NUMBERS.split())}|half a|a few)"
LEAK = re.compile(
    rf"\bseconds\b|\b{COUNTS}[\s-]+(?:seconds?|secs?|minutes?|mins?|milliseconds?)\b|\b\d+(?:\.\d+)?\s?s\b"
    r"|\b(?:a|one) second (?:later|after|before|into)\b|\b\d{1,2}:\d{2}(?::\d{2})?\b|\btime\s?stamps?\b"
    r"|\bfrom \d+(?:\.\d+)? to \d+(?:\.\d+)?\b|\bframes? (?:no\.? ?|number |#)?\d+\b|\b\d+(?:st|nd|rd|th) frame\b",
    re.I,
)
WORD = re.compile(r"[^\W_]+")
SMALL = """a an the and or of in on at to into onto from with by for is are was were be been being it its his her their
there this that as he she they them him someone some then while another other person people man woman"""
COMMON = frozenset(SMALL.split())


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate caption; its branch is static or dynamic."""

    text: str
    branch: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Dropped:
    """A rejected candidate, and why."""

    text: str
    branch: str
    why: str


def normalise(text: str) -> str:
    """What two captions that say the same with other signs have in common."""
    return " ".join(w for w in WORD.findall(text.casefold()) if w not in ("a", "an", "the"))


def stems(text: str) -> set[str]:
    """The words that carry meaning, by their first four letters; all words where none does."""
    words = WORD.findall(text.casefold())
    return {w[:4] for w in words if w not in COMMON} or {w[:4] for w in words}


def find_fault(text: str, original: str, known: Iterable[str] = ()) -> str | None:
    """The reason to reject a candidate; None if it is accepted. `known`: normalised captions accepted before."""
    if not WORD.search(text):
        return "it has no words"
    if len(text.split()) > LONGEST:
        return f"it has more than {LONGEST} words"
    if LEAK.search(text) and not LEAK.search(original):
        return "it tells a time"
    if text == original:
        return "it is a copy of the input"
    plain = normalise(text)
    if plain == normalise(original):
        return "it changes nothing"
    if plain in known:
        return "it repeats another"
    if is_foreign(text, original):
        return "it is in another language, or about something else"
    return None


def is_foreign(text: str, original: str) -> bool:
    """Whether a caption of an English one has other letters, or neither a small English word nor one of its words."""
    small = COMMON.intersection(WORD.findall(original.casefold()))
    if not small or not is_latin(original):
        return False
    return not is_latin(text) or not (
        COMMON.intersection(WORD.findall(text.casefold())) or stems(text) & stems(original)
    )


def is_latin(text: str) -> bool:
    """Whether most letters are Latin."""
    letters = [c for c in text if c.isalpha()]
    return sum(c < "\u0250" for c in letters) * 2 >= len(letters)


def screen(
    found: Sequence[tuple[str, str]], original: str, against: Iterable[str] = ()
) -> tuple[list[Candidate], list[Dropped]]:
    """Split (text, branch) pairs into accepted and rejected candidates.

    `against` are captions that none may equal: positives, when negatives are screened.
    """
    accepted: list[Candidate] = []
    dropped: list[Dropped] = []
    known = {normalise(other) for other in against}
    for text, branch in found:
        if why := find_fault(text, original, known):
            dropped.append(Dropped(text, branch, why))
        else:
            accepted.append(Candidate(text, branch))
            known.add(normalise(text))
    return accepted, dropped
