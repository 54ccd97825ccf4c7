"""What is read in a judge's answers about events: the events of a text, and how many of them another text tells.

fabula      the last JSON object in the answer with a list `events`, whatever stands around it
tarsier     events: a Python literal, maybe fenced; judgements: JSON after mending (blanks folded, fences, outer braces
            and trailing commas), all of them one of three classes after strip and lower
vlmevalkit  JSON, else a Python literal, what stands around the braces cut off; an answer that is neither has no events
            and no judgements; classes are compared in small letters, not stripped
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from fabula.core.patterns import read_python_literal
from fabula.text.judges.reading import THOUGHTS, find_objects

CLASSES = ("entailment", "neutral", "contradiction")
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, SyntaxError, MemoryError, RecursionError)
FENCES = ("```json", "```python")


class Judged(NamedTuple):
    """How many judgements there are, and how many say that the other text entails the event."""

    events: int
    entailed: int


class BrokenError(Exception):
    """An answer over which the published program stumbles: it gives up on the sample."""


Events = list[Any]  # as the judge listed them, texts where it did what it was asked


# --- fabula ----------------------------------------------------------------------------------------------------------


def find_last(text: str) -> Any:
    """The list of the last object that has one under `events`."""
    found = [o["events"] for o in find_objects(THOUGHTS.sub(" ", text)) if isinstance(o.get("events"), list)]
    return found[-1] if found else None


def fabula_events(text: str) -> Events | None:
    found = find_last(text)
    return found if found is not None and all(isinstance(e, str) for e in found) else None


def fabula_judged(text: str) -> Judged | None:
    return count_classes(find_last(text))


def count_classes(found: Any) -> Judged | None:
    """Of a list of objects; None where one of them is of no class."""
    try:
        relations = [entry["relationship"].strip().lower() for entry in found]
    except UNREADABLE:
        return None
    return Judged(len(relations), relations.count("entailment")) if all(s in CLASSES for s in relations) else None


# --- tarsier ---------------------------------------------------------------------------------------------------------


def strip_fence(text: str) -> str:
    for fence in FENCES:
        if text.startswith(fence):
            return text.replace(fence, "").replace("```", "").strip()
    return text


def tarsier_events(text: str) -> Events | None:
    try:
        found = read_python_literal(strip_fence(text))["events"]
    except UNREADABLE:
        return None
    fine = isinstance(found, list) and (not found or isinstance(found[0], str))
    return found if fine else None


def tarsier_judged(text: str) -> Judged | None:
    try:
        return count_classes(json.loads(mend(text))["events"])
    except UNREADABLE:
        return None


def mend(text: str) -> str:
    """Near-JSON as JSON, by the same exchanges in the same order."""
    mended = strip_fence(re.sub(r"\s+", " ", text.strip()))
    mended = mended if mended.startswith("{") else "{" + mended
    mended = mended if mended.endswith("}") else mended + "}"
    for old, new in MENDED:
        mended = mended.replace(old, new)
    return mended.strip()


MENDED = (
    *(("True", "true"), ("False", "false"), ("} {", "}, {"), ("}{", "}, {"), (", }", "}"), (",}", "}")),
    *((", ]", "]"), (",]", "]"), ("[Placeholder]", "null"), ("{Events:", "")),
)


# --- vlmevalkit ------------------------------------------------------------------------------------------------------


def parse_loosely(text: str) -> Any:
    """JSON, else a Python literal, else None."""
    mended = strip_fence(text.strip()).replace("True", "true").replace("False", "false")
    if not mended.startswith("{") and "{" in mended:
        mended = mended[mended.find("{") :]
    if not mended.endswith("}") and "}" in mended:
        mended = mended[: mended.rfind("}") + 1]
    for read in (json.loads, read_python_literal):
        try:
            return read(mended)
        except UNREADABLE:
            continue
    return None


def vlmevalkit_events(text: str) -> Events:
    parsed = parse_loosely(text)
    try:
        found = parsed.get("events", []) if parsed else []
        return found if isinstance(found, list) else list(found or ())  # of a text its letters, as len() counts them
    except UNREADABLE:
        raise BrokenError from None


def vlmevalkit_judged(text: str) -> Judged:
    parsed = parse_loosely(text)
    try:
        found = parsed["events"] if parsed and "events" in parsed else []
        relations = [entry.get("relationship", "").lower() for entry in found]
    except UNREADABLE:
        raise BrokenError from None
    return Judged(len(relations), relations.count("entailment"))


READ_EVENTS: dict[str, Callable[[str], Events | None]] = {
    "fabula": fabula_events,
    "tarsier": tarsier_events,
    "vlmevalkit": vlmevalkit_events,
}
READ_JUDGED: dict[str, Callable[[str], Judged | None]] = {
    "fabula": fabula_judged,
    "tarsier": tarsier_judged,
    "vlmevalkit": vlmevalkit_judged,
}
