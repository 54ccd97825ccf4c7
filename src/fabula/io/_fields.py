"""Checks of single fields: a number is a number, a segment two finite ones, a caption text of bearable length."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError, shown
from fabula.core.notes import Notes
from fabula.core.nouns import Segment

LONGEST_CAPTION = 100_000  # characters; the longest paragraph of any data set known to us has under 10,000


@dataclass(slots=True)
class Source:
    """Where a reader is: every complaint names the file, every remark lands in the notes."""

    path: Path
    notes: Notes = field(default_factory=Notes)

    def wrong(
        self, problem: str, video: object = None, field: str | None = None, hint: str | None = None
    ) -> InputError:
        return InputError(problem, file=self.path, video=video, field=field, hint=hint)

    def mapping(self, value: Any, what: str, video: object = None, hint: str | None = None) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.wrong(f"expected an object, saw {kind(value)}", video, what, hint)
        return value

    def listing(self, value: Any, what: str, video: object = None, hint: str | None = None) -> list[Any]:
        if not isinstance(value, list):
            raise self.wrong(f"expected a list, saw {kind(value)}", video, what, hint)
        return value

    def entry(self, mapping: dict[str, Any], key: str, video: object = None, at: str = "") -> Any:
        if key not in mapping:
            has = ", ".join(map(shown, list(mapping)[:6])) or "nothing"
            raise self.wrong(f"the key {key!r} is missing", video, at or None, f"it has {has}")
        return mapping[key]

    def number(self, value: Any, what: str, video: object = None) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(
                f"expected a number, saw {kind(value)}", video, what, "write it as a JSON number, in seconds"
            )
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.wrong(f"expected a finite number, saw {number}", video, what, "mend it or leave the event out")
        return number

    def segment(self, value: Any, what: str, video: object = None) -> Segment:
        """[start, end] in seconds. Order and sign are not judged here: see io/segments.py."""
        pair = self.listing(value, what, video, "a segment is [start, end] in seconds")
        if len(pair) != 2:
            raise self.wrong(
                f"expected [start, end], saw {len(pair)} entries", video, what, "give two numbers, in seconds"
            )
        return Segment(self.number(pair[0], f"{what}[0]", video), self.number(pair[1], f"{what}[1]", video))

    def caption(self, value: Any, what: str, video: object = None) -> str:
        if not isinstance(value, str):
            raise self.wrong(f"expected text, saw {kind(value)}", video, what, "a caption is a JSON string")
        if len(value) > LONGEST_CAPTION:
            raise self.wrong(
                f"a caption of {len(value):,} characters",
                video,
                what,
                f"the longest that is read has {LONGEST_CAPTION:,}",
            )
        return value

    def duration(self, value: Any, video: object = None) -> float:
        number = self.number(value, "duration", video)
        if number <= 0:
            raise self.wrong(f"a duration of {number:g} seconds", video, "duration", "a video is longer than nothing")
        return number


def kind(value: Any) -> str:
    """`the string 'abc'`, `true`, `a list of 3`: what was seen, short enough for one line."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return f"the string {shown(value)}"
        case list():
            return f"a list of {len(value)}"
        case dict():
            return f"an object of {len(value)}"
    return f"the number {shown(value)}"
