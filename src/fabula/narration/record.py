"""Everything about one film: what was shown and asked, how each answer was read, and the story that came of it.

    asking       model, server, prompts' hashes, frame recipe, decoder, layout, windows, parameters
    windows      times; of each frame its index, time, size and SHA-256; the calls' keys; how the answer was read
    events       start, end, caption (labels of people as they stand), the windows that saw it
    signature    16 digits of all that was asked: file, frames, prompts, settings; `answers`: of all that was answered

Nothing in it says when or where it was made: the same answers give the same bytes.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fabula.data.stories import Event, Segment, Story
from fabula.documents.fields import JsonDict
from fabula.llm import Answer
from fabula.media.frame_sets import sign_record
from fabula.narration.companions import find_labels, put_names
from fabula.narration.joining import Joined
from fabula.narration.reading import Happening, Reading
from fabula.narration.windows import Window

VERSION = 1
DIGITS = 16


@dataclass
class Usage:
    """Calls of a film, and their tokens as the server counts them."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    uncounted: int = 0  # answers whose tokens the server does not say

    def add(self, answer: Answer) -> None:
        self.calls += 1
        self.tokens_in += answer.tokens_in or 0
        self.tokens_out += answer.tokens_out or 0
        self.uncounted += answer.tokens_in is None or answer.tokens_out is None

    def to_dict(self) -> JsonDict:
        return {
            "calls": self.calls,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "uncounted": self.uncounted,
        }


@dataclass
class StepRecord:
    """A step that was asked: its calls, and the answer as it was read."""

    keys: list[str] = field(default_factory=list)
    reading: Reading | None = None
    before: list[Reading] = field(default_factory=list)  # of attempts that could not be read
    failed: str | None = None  # why there is no answer
    finish: str = "stop"

    @property
    def unread(self) -> int:
        return sum(len(r.refused) for r in [*self.before, *([self.reading] if self.reading else [])])


@dataclass
class WindowRecord:
    """A window and what came of it."""

    window: Window
    frames: JsonDict  # what was sent; the pictures themselves stay in the film
    step: StepRecord

    @property
    def events(self) -> tuple[Happening, ...]:
        return self.step.reading.events if self.step.reading else ()

    def to_dict(self) -> JsonDict:
        window, step = self.window, self.step
        found: JsonDict = {"start": window.start, "end": window.end, "calls": step.keys}
        if step.failed is not None:
            found["failed"] = step.failed
        if step.reading is not None:
            found |= {"finish": step.finish, **step.reading.to_dict()}
            found["events"] = [e.to_dict() for e in step.reading.events]
        if step.before:
            found["attempts"] = [reading.to_dict() for reading in step.before]
        return {**found, "frames": self.frames}


@dataclass(frozen=True)
class FilmStory:
    """The story of one film, as its record has it."""

    id: str
    path: Path
    record: JsonDict = field(repr=False)

    @property
    def duration(self) -> float:
        return float(self.record["seconds"])

    @property
    def title(self) -> str | None:
        title = self.record["title"]
        return None if title is None else str(title)

    @property
    def complete(self) -> bool:
        """Whether every call of it was answered."""
        return not self.record["counts"]["windows failed"]

    @property
    def answered(self) -> bool:
        """Whether any window was answered, or none had to be asked."""
        return any("failed" not in window for window in self.record["windows"])

    @property
    def failure(self) -> str | None:
        """Why the first of its windows that failed did."""
        return next((str(window["failed"]) for window in self.record["windows"] if "failed" in window), None)

    @property
    def names(self) -> dict[int, str]:
        people: Mapping[str, str | None] = self.record["companions"]["people"]
        return {int(label[1:]) - 1: name for label, name in people.items() if name}

    @property
    def events(self) -> list[Happening]:
        """With names in place of labels, where the store has them."""
        names = self.names
        return [Happening(e["start"], e["end"], put_names(e["caption"], names)) for e in self.record["events"]]

    @property
    def signature(self) -> str:
        return str(self.record["signature"])

    @property
    def unread(self) -> int:
        """Lines and entries of answers that gave no event."""
        return int(self.record["counts"]["refused"])

    def story(self) -> Story:
        events = tuple(Event(Segment(e.start, e.end), e.caption) for e in self.events)
        return Story(self.id, events, self.duration)


def describe_event(event: Joined, spoken: tuple[float, float] | None = None) -> JsonDict:
    """An event of the story; a description has its seconds in `start` and `end`, and what it describes in `of`."""
    found: JsonDict = dict(event.to_dict())
    if spoken is not None:
        found |= {"start": spoken[0], "end": spoken[1], "of": [event.start, event.end]}
    labels = find_labels(event.caption)
    return {**found, "people": labels} if labels else found


def count_outcomes(windows: Sequence[WindowRecord], last: StepRecord | None) -> JsonDict:
    """What could not be read, and what was changed, over all windows."""
    changed: Counter[str] = Counter()
    for window in windows:
        changed.update(window.step.reading.changed if window.step.reading else {})
    return {
        "windows": len(windows),
        "windows failed": sum(w.step.reading is None for w in windows),
        "windows unread": sum(bool(w.step.reading and w.step.reading.is_empty) for w in windows),
        "events read": sum(len(w.events) for w in windows),
        "refused": sum(w.step.unread for w in windows),
        "cut short": sum(w.step.finish == "length" for w in windows),
        "changed": dict(sorted(changed.items())),
        "title unread": int(last is not None and last.reading is None),
    }


def digest_answers(texts: Mapping[str, str]) -> str:
    """Of keys and answers, sorted by key."""
    digest = hashlib.sha256()
    for key in sorted(texts):
        digest.update(f"{key}\0{texts[key]}\0".encode())
    return digest.hexdigest()[:DIGITS]


def sign_asking(asking: JsonDict, sha256: str, companions: str, windows: Sequence[WindowRecord]) -> str:
    """Of all that was asked about a film."""
    frames = [[w.window.start, w.window.end, w.frames] for w in windows]
    return sign_record({"tell": VERSION, "asking": asking, "film": sha256, "companions": companions, "frames": frames})
