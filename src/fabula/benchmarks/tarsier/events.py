"""What tarsier reads in its judge's answers about events.

Events are a Python literal, maybe fenced; judgements are JSON after mending (blanks folded, fences, outer braces and
trailing commas), all of them one of three classes after strip and lower.
"""

from __future__ import annotations

import json
import re

from fabula.core.patterns import read_python_literal
from fabula.metrics.questions.events import UNREADABLE, EventReader, Events, Judged, count_classes, strip_fence


def read_events(text: str) -> Events | None:
    try:
        found = read_python_literal(strip_fence(text))["events"]
    except UNREADABLE:
        return None
    fine = isinstance(found, list) and (not found or isinstance(found[0], str))
    return found if fine else None


def read_judged(text: str) -> Judged | None:
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

EVENT_READER = EventReader("tarsier", read_events, read_judged)
