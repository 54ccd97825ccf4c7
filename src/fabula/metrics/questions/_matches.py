"""What is read in a judge's answer about two answers: whether they agree, and how well from 0 to 5.

fabula   the last JSON object with `pred` and `score`, whatever stands around it; numbers as text pass; 0 to 5 at most
literal  a Python literal, so that JSON's true and null are none (lmms-eval, AuroraCap)
json     JSON, else a Python literal (VLMEvalKit, which evaluates the judge's text as code; here nothing is evaluated)
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from fabula.core.patterns import read_python_literal
from fabula.metrics.questions._events import UNREADABLE
from fabula.text.judges.reading import THOUGHTS, find_objects

TOP = 5.0


class Agreement(NamedTuple):
    """A judgement. `whole` is False where it is an object, or a text or list, that lacks one of its two parts."""

    pred: object = None
    score: float = 0.0
    whole: bool = True


LACKING = Agreement(whole=False)


def read_fabula(text: str) -> Agreement | None:
    found = [o for o in find_objects(THOUGHTS.sub(" ", text)) if {"pred", "score"} <= o.keys()]
    if not found or not isinstance(found[-1]["pred"], str):
        return None
    score = as_number(found[-1]["score"], "text")
    return None if score is None else Agreement(found[-1]["pred"], min(TOP, max(0.0, score)))


def as_number(value: Any, numbers: Literal["number", "text"]) -> float | None:
    """A finite number; of text only where that is allowed."""
    if isinstance(value, str) and numbers == "number":
        return None
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def read_literal(text: str, numbers: Literal["number", "text"]) -> Agreement | None:
    try:
        return as_agreement(read_python_literal(text), numbers)
    except UNREADABLE:
        return None


def read_json(text: str, numbers: Literal["number", "text"]) -> Agreement | None:
    for read in (json.loads, read_python_literal):
        try:
            return as_agreement(read(text), numbers)
        except UNREADABLE:
            continue
    return None


def as_agreement(found: Any, numbers: Literal["number", "text"]) -> Agreement | None:
    if "pred" not in found or "score" not in found:  # raises where it cannot hold anything
        return LACKING
    score = as_number(found["score"], numbers)
    return None if score is None else Agreement(found["pred"], score)


READ: dict[str, Callable[[str, Literal["number", "text"]], Agreement | None]] = {
    "fabula": lambda text, numbers: read_fabula(text),
    "literal": read_literal,
    "json": read_json,
}
