"""Checks of single fields: a number is a number, a segment two finite ones, a caption text of reasonable length.

Each check has two gears. The `plain_…` functions pass what is beyond doubt and cost next to nothing; whatever they do
not pass goes to `Source`, which accepts it or says what is wrong with it, where, and what to do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Set
from dataclasses import dataclass, field
from typing import Any, cast

from fabula.core.errors import InputError, shown
from fabula.core.notes import Notes, name_id
from fabula.data.stories import Segment
from fabula.documents.document import Document, open_document

LONGEST_CAPTION = 100_000  # characters; the longest paragraph of any data set known to us has under 10,000
VAST = 1e300  # between -VAST and VAST a number needs no closer look; NaN is not
SURROGATE = re.compile("[\ud800-\udfff]")
LISTED = 12  # how many unused fields a note names


def plain_segment(value: Any) -> Segment | None:
    """The segment when it is [number, number] beyond doubt, else None: ask Source.segment."""
    if type(value) is list and len(value) == 2:
        start, end = value
        if (
            (type(start) is float or type(start) is int)
            and (type(end) is float or type(end) is int)
            and -VAST < start < VAST
            and -VAST < end < VAST
        ):
            return Segment(float(start), float(end))
    return None


def plain_segments(values: list[Any]) -> list[Segment] | None:
    """The segments when all are plain, else None."""
    made = list(map(plain_segment, values))
    return cast("list[Segment]", made) if all(made) else None


def plain_number(value: Any) -> float | None:
    """The number when it is one beyond doubt, else None: ask Source.number."""
    return float(value) if (type(value) is float or type(value) is int) and -VAST < value < VAST else None


def plain_caption(value: Any) -> str | None:
    """The caption when it is short ASCII text, else None: ask Source.caption."""
    return value if type(value) is str and value.isascii() and len(value) <= LONGEST_CAPTION else None


def plain_captions(values: list[Any]) -> list[str | None] | None:
    """The captions when all are plain, else None."""
    try:
        plain = all(map(str.isascii, values)) and max(map(len, values), default=0) <= LONGEST_CAPTION
    except TypeError:  # not text
        return None
    return list(values) if plain else None


@dataclass(slots=True)
class Source:
    """What a reader reads (or a writer writes): every complaint names it, every remark lands in the notes."""

    document: Document
    notes: Notes = field(default_factory=Notes)
    argument: str | None = None  # what follows the colon of `youcook2:validation`
    noun: str = "video"  # what an id names: a video, or an item of captions
    unit: str = "line"  # what an entry of the file is called: a line, or a row
    extras: dict[str, dict[str, int]] = field(default_factory=dict)  # whose field → its name → how often
    aliases: dict[str, tuple[str, ...]] = field(default_factory=dict)  # what else predictions may call a video
    categories: dict[str, str] = field(default_factory=dict)  # of videos

    def __post_init__(self) -> None:
        self.document = open_document(self.document)

    @property
    def path(self) -> Document:
        return self.document

    def wrong(
        self, problem: str, video: object = None, field: str | None = None, hint: str | None = None
    ) -> InputError:
        return InputError(problem, file=self.document, video=video, field=field, hint=hint, noun=self.noun)

    def mapping(self, value: Any, what: str, video: object = None, hint: str | None = None) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.wrong(f"expected an object, saw {describe_value(value)}", video, what, hint)
        return value

    def listing(self, value: Any, what: str, video: object = None, hint: str | None = None) -> list[Any]:
        if not isinstance(value, list):
            raise self.wrong(f"expected a list, saw {describe_value(value)}", video, what, hint)
        return value

    def entry(self, mapping: dict[str, Any], key: str, video: object = None, at: str = "") -> Any:
        if key not in mapping:
            has = ", ".join(map(shown, list(mapping)[:6])) or "nothing"
            raise self.wrong(f"the key {key!r} is missing", video, at or None, f"it has {has}")
        return mapping[key]

    def text(self, value: Any, what: str, video: object = None, hint: str | None = None) -> str:
        if not isinstance(value, str):
            raise self.wrong(
                f"expected text, saw {describe_value(value)}", video, what, hint or "write it as a JSON string"
            )
        return value

    def identity(self, value: Any, what: str) -> str | int:
        """An id is text or a whole number, and stays what it is."""
        if isinstance(value, bool) or not isinstance(value, str | int):
            seen = f"expected an id (text or a whole number), saw {describe_value(value)}"
            raise self.wrong(seen, None, what, "mend the file")
        return value

    def number(self, value: Any, what: str, video: object = None) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(
                f"expected a number, saw {describe_value(value)}", video, what, "write it as a JSON number"
            )
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.wrong(
                f"expected a finite number, saw {shown(value)}", video, what, "mend it or leave the event out"
            )
        return number

    def segment(self, value: Any, what: str, video: object = None) -> Segment:
        """[start, end] in seconds. Order and sign are not judged here: see data/segments.py."""
        pair = self.listing(value, what, video, "a segment is [start, end] in seconds")
        if len(pair) != 2:
            raise self.wrong(
                f"expected [start, end], saw {len(pair)} entries", video, what, "give two numbers, in seconds"
            )
        return Segment(self.number(pair[0], f"{what}[0]", video), self.number(pair[1], f"{what}[1]", video))

    def caption(self, value: Any, what: str, video: object = None) -> str:
        """Text; half a character (a lone surrogate, which no file can hold as UTF-8) becomes U+FFFD, with a note."""
        text = self.text(value, what, video, "a caption is a JSON string; leave the field out where there are no words")
        if len(text) > LONGEST_CAPTION:
            raise self.wrong(
                f"a caption of {len(text):,} characters",
                video,
                what,
                f"the longest that is read has {LONGEST_CAPTION:,}",
            )
        if not (text.isascii() or is_encodable(text)):
            self.notes.add(
                "{n} captions held half a character (a lone surrogate); U+FFFD stands there now", name_id(video)
            )
            return SURROGATE.sub("\ufffd", text)
        return text

    def duration(self, value: Any, video: object = None, what: str = "duration") -> float:
        number = self.number(value, what, video)
        if number <= 0:
            raise self.wrong(f"a duration of {number:g} seconds", video, what, "a video is longer than nothing")
        return number

    def unused(self, entry: dict[str, Any], known: Set[str], whose: str) -> None:
        """Count the fields that the reader does not keep; `report` says them once, in file order."""
        if not entry.keys() <= known:
            counts = self.extras.setdefault(whose, {})
            for key in entry:
                if key not in known:
                    counts[key] = counts.get(key, 0) + 1

    def count_unused(self, extras: dict[str, dict[str, int]]) -> None:
        """What another reader counted in another piece of the file."""
        for whose, counts in extras.items():
            own = self.extras.setdefault(whose, {})
            for key, count in counts.items():
                own[key] = own.get(key, 0) + count

    def add_alias(self, name: str, video: str) -> None:
        """Predictions that are called so are of this video, too."""
        if name != video:
            self.aliases[name] = tuple(dict.fromkeys((*self.aliases.get(name, ()), video)))

    def report(self) -> None:
        """One note for the unused fields of videos, one for those of events."""
        for whose, counts in self.extras.items():
            names = [f"{shown(key)} ({count})" for key, count in list(counts.items())[:LISTED]]
            more = f" and {len(counts) - LISTED} more" if len(counts) > LISTED else ""
            self.notes.add(f"fields of {whose} that were not used: {', '.join(names)}{more}")


def is_plain(value: Any) -> bool:
    """A caption that there is nothing to say of, at one look: short text in ASCII."""
    return isinstance(value, str) and value.isascii() and len(value) <= LONGEST_CAPTION


def is_encodable(text: str) -> bool:
    """False for text with a lone surrogate: JSON can spell it, UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def describe_value(value: Any) -> str:
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
