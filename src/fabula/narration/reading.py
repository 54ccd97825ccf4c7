"""An answer about a window → events inside it, and what was done to them; what cannot be read is counted and kept.

The readers of model prose (io/answers) find times and words: JSON whole or cut, lists, sentences, clocks. Then each
event is checked against the window:

    outside the window            refused, with its reason
    over an edge of the window    cut there
    counted from the window       where more than half of the events lie before the window and all would lie inside
                                  it, times are read as seconds from the window's start
    no stretch of time, no words  refused
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace

from fabula.core.patterns import lazy
from fabula.documents.fields import SURROGATE, JsonDict
from fabula.io.answers import Audit, Options, parse
from fabula.narration.windows import DIGITS, Window

LONGEST_LINE = 500  # characters of what was refused that the record keeps
LONGEST_TITLE = 200  # characters
SLACK = 1e-6  # seconds
WRAPPER = lazy(r'[\s{]{0,5}"\w{1,20}"\s{0,5}:[\s\[]{0,5}')  # of a list that is cut short: no event
TITLE = lazy(r'"title"\s{0,5}:\s{0,5}"((?:[^"\\\n]|\\.){1,400})"')


@dataclass(frozen=True, slots=True)
class Happening:
    """An event of a film as the model tells it."""

    start: float
    end: float
    caption: str

    def to_dict(self) -> JsonDict:
        return {"start": self.start, "end": self.end, "caption": self.caption}


@dataclass(frozen=True)
class Reading:
    """The events of one answer."""

    events: tuple[Happening, ...]
    refused: tuple[tuple[str, str], ...] = ()  # what stood there, why it is no event
    changed: dict[str, int] = field(default_factory=dict)  # what was done → to how many events
    prose: int = 0  # lines beside the events

    @property
    def is_empty(self) -> bool:
        """No event, and something was there that is none: "nothing happens" as [] is an answer."""
        return not self.events and bool(self.refused)

    def to_dict(self) -> JsonDict:
        return {
            "refused": [{"line": line[:LONGEST_LINE], "why": why} for line, why in self.refused],
            "changed": dict(sorted(self.changed.items())),
            "prose": self.prose,
        }


NOTHING = ('{"events": []}', '{"events":[]}', "[]")


def read_window(text: str, window: Window, duration: float) -> Reading:
    """The events of an answer about one window of a film."""
    if "".join(text.split()) in {"".join(form.split()) for form in NOTHING}:
        return Reading(())
    answer = parse(text, Options(duration=duration))
    changed: Counter[str] = Counter(answer.audit.repaired)
    changed.update({f"deduced: {what}": n for what, n in answer.audit.deduced.items() if not is_plain(what)})
    refused = list_refused(answer.audit, text)
    found = [Happening(e.segment.start, e.segment.end, (e.caption or "").strip()) for e in answer.events]
    found, moved = move_into(found, window)
    if moved:
        changed["times counted from the window's start"] += len(found)
    events = []
    for one in found:
        event, why = check_event(one, window, changed)
        if event is None:
            refused.append((f"{one.start:g} – {one.end:g} s: {one.caption}", why))
        else:
            events.append(event)
    events.sort(key=lambda e: (e.start, e.end))
    return Reading(tuple(events), tuple(refused), dict(changed), len(answer.audit.prose))


def is_plain(what: str) -> bool:
    """What is said of every answer that obeys the prompt."""
    return what == "numbers without a unit read as seconds"


def list_refused(audit: Audit, text: str) -> list[tuple[str, str]]:
    refused = [(r.line, r.why) for r in audit.refused if not WRAPPER.fullmatch(r.line)]
    if audit.unparsed and not refused:
        refused.append((text, "no event with two times"))
    return refused


def move_into(events: list[Happening], window: Window) -> tuple[list[Happening], bool]:
    """Events that were counted from the window's start, as seconds of the film."""
    before = [e for e in events if e.end <= window.start]
    inside = all(e.start >= 0 and e.end <= window.length + 1 for e in events)
    if 2 * len(before) <= len(events) or not inside:
        return events, False
    return [replace(e, start=e.start + window.start, end=e.end + window.start) for e in events], True


def check_event(event: Happening, window: Window, changed: Counter[str]) -> tuple[Happening | None, str]:
    """The event inside the window, or why there is none."""
    if not event.caption:
        return None, "no words"
    if not event.start < event.end:
        return None, "no stretch of time"
    if event.end <= window.start or event.start >= window.end:
        return None, f"outside the window of {window.start:g} to {window.end:g} s"
    start, end = max(event.start, window.start), min(event.end, window.end)
    if start > event.start + SLACK or end < event.end - SLACK:
        changed["cut at an edge of the window"] += 1
    start, end = round(start, DIGITS), round(end, DIGITS)
    return (Happening(start, end, event.caption), "") if start < end else (None, "no stretch of time")


def read_title(text: str) -> str | None:
    """The title in an answer: a field of JSON, whole or cut short, or all of a short line; None where there is none."""
    found = TITLE.search(text)
    if found is not None:
        try:
            title = json.loads(f'"{found[1]}"')
        except ValueError:
            title = found[1]
    else:
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        title = lines[0].strip("#*\"'“” ") if len(lines) == 1 and not set(lines[0]) & set("{}[]") else ""
    title = " ".join(SURROGATE.sub("\ufffd", title).split())
    return title if 0 < len(title) <= LONGEST_TITLE else None
