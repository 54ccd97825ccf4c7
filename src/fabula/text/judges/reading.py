"""A number out of a judge's answer: tolerant of fences, of words around it and of numbers as text; never a guess.

In this order: the last JSON object that has the field; the words `score: 8`, `score is 8/10`; an answer that is a
number and nothing more. Thoughts (`<think>…</think>`) are not read. A number beyond the scale is brought to its end. An
answer with two different numbers in such words has none.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.S | re.I)
NUMBER = r"([-+]?\d+(?:\.\d+)?)(?:\s*(?:/|out of)\s*(\d+(?:\.\d+)?))?"
BARE = re.compile(rf"\W{{0,6}}?{NUMBER}\s*[.*`]*")
LONGEST = 1 << 16  # characters that are looked at


def read_score(text: str, field: str = "score", top: float = 10.0) -> float | None:
    """The judgement in [0, 1], or None where there is none."""
    answer = THOUGHTS.sub(" ", text[:LONGEST]).strip()
    objects = [found[field] for found in find_objects(answer) if field in found]
    if objects:
        return as_score(objects[-1], top)
    worded: set[tuple[str, str]] = set(
        re.findall(rf"\b{field}\b[\"'`*\s]{{0,6}}(?:is|of|:|=)?[\"'`*\s]{{0,6}}{NUMBER}", answer, re.I)
    )
    if len(worded) == 1:
        ((number, of),) = worded
        return scaled(number, of, top)
    bare = BARE.fullmatch(answer)
    return scaled(bare[1], bare[2] or "", top) if bare and not worded else None


def as_score(value: object, top: float) -> float | None:
    """Of a field of a JSON object: a number, or a number as text."""
    if isinstance(value, str):
        found = BARE.fullmatch(value.strip())
        return scaled(found[1], found[2] or "", top) if found else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return clip(value, top)


def scaled(number: str, of: str, top: float) -> float | None:
    """`8`, or `80/100`."""
    if not of:
        return clip(float(number), top)
    return clip(float(number), float(of)) if float(of) > 0 else None


def clip(value: float, top: float) -> float | None:
    try:
        share = float(value) / top
    except OverflowError:
        return None
    return min(1.0, max(0.0, share)) if math.isfinite(share) else None


def find_objects(text: str) -> Iterator[dict[str, Any]]:
    """JSON objects that stand in a text, from left to right, none within another."""
    at, decoder, tries = text.find("{"), json.JSONDecoder(), 0
    while at >= 0 and tries < 64:
        tries += 1
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            found, end = None, at + 1
        if isinstance(found, dict):
            yield found
        at = text.find("{", end)
