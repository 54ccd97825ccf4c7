"""What VLMEvalKit reads in its judge's answers about events.

JSON, else a Python literal, what stands around the braces cut off; an answer that is neither has no events and no
judgements. Classes are compared in small letters, not stripped.
"""

from __future__ import annotations

import json
from typing import Any

from fabula.core.patterns import read_python_literal
from fabula.metrics.questions.events import UNREADABLE, BrokenError, EventReader, Events, Judged, strip_fence


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


def read_events(text: str) -> Events:
    parsed = parse_loosely(text)
    try:
        found = parsed.get("events", []) if parsed else []
        return found if isinstance(found, list) else list(found or ())  # of a text its letters, as len() counts them
    except UNREADABLE:
        raise BrokenError from None


def read_judged(text: str) -> Judged:
    parsed = parse_loosely(text)
    try:
        found = parsed["events"] if parsed and "events" in parsed else []
        relations = [entry.get("relationship", "").lower() for entry in found]
    except UNREADABLE:
        raise BrokenError from None
    return Judged(len(relations), relations.count("entailment"))


EVENT_READER = EventReader("vlmevalkit", read_events, read_judged)
