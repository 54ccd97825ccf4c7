"""One free-form answer of a language model → events, with an audit of how it was read.

Units are declared or deduced where nothing else is possible. Nothing is lost in silence: every line is an event's,
refused with a reason, or prose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fabula.data.stories import Event, Segment
from fabula.documents.fields import LONGEST_CAPTION, SURROGATE
from fabula.io.answers import json
from fabula.io.answers.readers import find_telling
from fabula.io.answers.text import find_spans, holds_span
from fabula.io.answers.times import PLAIN, Clock, Options, Time, UnclearError, scan_times
from fabula.io.answers.words import Span

LONGEST = 200_000  # characters of one answer
KINDS = 20  # of remarks that an audit tells apart
FARTHEST = 1e9  # seconds


@dataclass(frozen=True, slots=True)
class Refused:
    """A line (or an entry of JSON) that gave no event, as it stood, and why."""

    line: str
    why: str


@dataclass(frozen=True, slots=True)
class Audit:
    """How one answer was read."""

    parsed: int = 0
    repaired: Mapping[str, int] = field(default_factory=dict)  # what was mended → in how many events
    deduced: Mapping[str, int] = field(default_factory=dict)  # what the text did not say → in how many events
    refused: tuple[Refused, ...] = ()
    prose: tuple[str, ...] = ()  # lines around the events that hold no time, and reasoning up to </think>

    @property
    def unparsed(self) -> bool:
        return not self.parsed

    def to_dict(self) -> dict[str, Any]:
        return {
            "parsed": self.parsed,
            "repaired": dict(self.repaired),
            "deduced": dict(self.deduced),
            "refused": [{"line": r.line, "why": r.why} for r in self.refused],
            "prose": list(self.prose),
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """The events of one answer, in the order in which it tells them."""

    events: tuple[Event, ...]
    audit: Audit


def parse(text: str, options: Options | None = None) -> Answer:
    """Events of one answer."""
    options = options or Options()
    if len(text) > LONGEST:
        why = f"an answer of {len(text):,} characters; the longest that is read has {LONGEST:,}"
        return Answer((), Audit(refused=(Refused(text[:200], why),)))
    if options.reader != "fabula":
        return read_by(options.reader, text)
    text = SURROGATE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    if not text.strip():
        return Answer((), Audit(refused=(Refused(text, "the answer is empty"),)))
    thought, _, text = text.rpartition("</think>")  # what a model says to itself is no answer
    found = json.find_events(text)
    answer = read_json(found, options) if found else read_text(text, options)
    aside = tuple(line for line in thought.split("\n") if line.strip())
    return replace(answer, audit=replace(answer.audit, prose=aside + answer.audit.prose)) if aside else answer


def read_by(name: str, text: str) -> Answer:
    """As a published evaluator reads it: what that leaves out is left out, and an answer that gives nothing is said."""
    told = find_telling(name).tell
    assert told is not None
    events = tuple(Event(Segment(*window), SURROGATE.sub("\ufffd", words)) for window, words in told(text))
    refused = () if events else (Refused(text[:200], f"{name} reads no event in it"),)
    return Answer(events, Audit(parsed=len(events), refused=refused))


def read_json(found: json.Found, options: Options) -> Answer:
    tally = Tally(options, [(s.a, s.b) for s in found.spans])
    for span in found.spans:
        tally.add(span, span.entry)
    for repair in found.repairs:
        tally.count(tally.repaired, repair)
    tally.refused += [Refused(entry, why) for entry, why in found.refused]
    for line in found.outside:
        if any(t.has_unit for t in scan_times(line.translate(PLAIN))):
            tally.refused.append(Refused(line, "a time beside the JSON"))
        elif any(c.isalnum() for c in line):
            tally.prose.append(line)
    return tally.answer()


def read_text(text: str, options: Options) -> Answer:
    found = find_spans(text, text.translate(PLAIN))
    rows = text.split("\n")
    tally = Tally(options, [(s.a, s.b) for s in found.spans])
    for span in found.spans:
        tally.add(span, "\n".join(rows[n] for n in span.lines))
    tally.refused += [Refused(rows[n], why) for n, why in found.refused]
    tally.prose += [rows[n] for n in found.prose]
    return tally.answer()


class Tally:
    """Collects the events of one answer and counts what was done to them."""

    def __init__(self, options: Options, pairs: list[tuple[Time, Time]]) -> None:
        self.options, self.clock = options, Clock.of(options, pairs)
        self.events: list[Event] = []
        self.repaired: dict[str, int] = {}
        self.deduced: dict[str, int] = {}
        self.refused: list[Refused] = []
        self.prose: list[str] = []

    @staticmethod
    def count(table: dict[str, int], what: str) -> None:
        table[what] = table.get(what, 0) + 1

    def add(self, span: Span, line: str) -> None:
        """The span as an event, or its line among the refused."""
        try:
            start, end, deduced = self.clock.seconds(span.a, span.b)
        except UnclearError as error:
            self.refused.append(Refused(line, str(error)))
            return
        end = start + end if span.lasting else end
        if max(abs(start), abs(end)) > FARTHEST:
            self.refused.append(Refused(line, "a time of more than thirty years"))
            return
        if len(span.caption) > LONGEST_CAPTION:
            self.refused.append(Refused(line, f"a caption of more than {LONGEST_CAPTION:,} characters"))
            return
        if holds_span(span.caption):
            self.refused.append(Refused(line, "another time span stands in its words"))
            return
        if deduced:
            self.count(self.deduced, deduced)
        for remark in span.remarks:
            self.count(self.deduced, remark if remark in self.deduced or len(self.deduced) < KINDS else "other fields")
        for repair in {r for r in (span.a.repair, span.b.repair) if r}:
            self.count(self.repaired, repair)
        if end < start and self.options.reversed == "swap":
            start, end = end, start
            self.count(self.repaired, "the end stood before the start: swapped")
        self.events.append(Event(Segment(start, end), span.caption or None))

    def answer(self) -> Answer:
        audit = Audit(len(self.events), self.repaired, self.deduced, tuple(self.refused), tuple(self.prose))
        return Answer(tuple(self.events), audit)
