"""What is read in a judge's answers about events: the events of a text, and how many of them another text tells.

Ours takes the last JSON object in the answer with a list `events`, whatever stands around it; the others stand with
their benchmark.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fabula.core.registry import Section
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


class EventReader(NamedTuple):
    """Both readings, by the name that signatures have for them."""

    name: str
    events: Callable[[str], Events | None]
    judged: Callable[[str], Judged | None]


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


def strip_fence(text: str) -> str:
    for fence in FENCES:
        if text.startswith(fence):
            return text.replace(fence, "").replace("```", "").strip()
    return text


EVENT_READERS = Section("EVENT_READERS", (EventReader("fabula", fabula_events, fabula_judged),))
