"""What models really say: free-form answers of a language model → events, with an audit of how each was read.

    From 12 to 30 seconds, a man runs.        1. **00:12 - 00:30** A man runs.        [{"start": 12, "end": 30, …}]

A file holds an answer a video: {"id" or "video", "answer" or "text" or "output", "duration"?, "fps"?, "frames"?}, as
JSON Lines, as a list, or as {video: answer}. Units are declared (`answers:percent`) or deduced where nothing else is
possible. Nothing is lost in silence: every line is an event's, refused with a reason, or prose; an answer without
any event is counted as unparsed and named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fabula.core.notes import Notes, named
from fabula.core.nouns import Corpus, Event, Segment, Story
from fabula.io import answers_json, opened, usable
from fabula.io._fields import LONGEST_CAPTION, SURROGATE, Source
from fabula.io._format import Format
from fabula.io.answers_text import told
from fabula.io.answers_times import PLAIN, UNITS, Clock, Options, Time, UnclearError, scan
from fabula.io.answers_words import Span

SHAPE = '{"id": video, "answer": text, "duration": s}'
IDS = ("id", "video", "video_id", "vid", "image_id")
TEXTS = ("answer", "text", "output", "response", "prediction")
KNOWN = frozenset({*IDS, *TEXTS, "duration", "fps", "frames"})
LONGEST = 200_000  # characters of one answer
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
    text = SURROGATE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    if not text.strip():
        return Answer((), Audit(refused=(Refused(text, "the answer is empty"),)))
    thought, _, text = text.rpartition("</think>")  # what a model says to itself is no answer
    found = answers_json.found(text)
    answer = from_json(found, options) if found else from_text(text, options)
    aside = tuple(line for line in thought.split("\n") if line.strip())
    return replace(answer, audit=replace(answer.audit, prose=aside + answer.audit.prose)) if aside else answer


def from_json(found: answers_json.Found, options: Options) -> Answer:
    tally = Tally(options, [(s.a, s.b) for s in found.spans])
    for span in found.spans:
        tally.add(span, span.entry)
    for repair in found.repairs:
        tally.count(tally.repaired, repair)
    tally.refused += [Refused(entry, why) for entry, why in found.refused]
    for line in found.outside:
        if any(t.told for t in scan(line.translate(PLAIN))):
            tally.refused.append(Refused(line, "a time beside the JSON"))
        elif any(c.isalnum() for c in line):
            tally.prose.append(line)
    return tally.answer()


def from_text(text: str, options: Options) -> Answer:
    found = told(text, text.translate(PLAIN))
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
        if deduced:
            self.count(self.deduced, deduced)
        for repair in {r for r in (span.a.repair, span.b.repair) if r}:
            self.count(self.repaired, repair)
        if end < start and self.options.reversed == "swap":
            start, end = end, start
            self.count(self.repaired, "the end stood before the start: swapped")
        self.events.append(Event(Segment(start, end), span.caption or None))

    def answer(self) -> Answer:
        audit = Audit(len(self.events), self.repaired, self.deduced, tuple(self.refused), tuple(self.prose))
        return Answer(tuple(self.events), audit)


# Files ------------------------------------------------------------------------------------------------------


def answered(entry: Any) -> bool:
    return (
        isinstance(entry, dict) and any(k in entry for k in IDS) and any(isinstance(entry.get(k), str) for k in TEXTS)
    )


def sniff(document: Any) -> bool:
    """A line, or a list of them; {video: text} is read only when the format is named. Moments are not answers."""
    first = document[0] if isinstance(document, list) and document else document
    return answered(first) and "windows" not in first


def numbered(document: Any, source: Source) -> Iterator[tuple[str, Any]]:
    """Each entry of the file with its place."""
    if isinstance(document, dict):
        if answered(document):
            yield "the root", document
        else:
            for video, text in document.items():
                answer = {"answer": text} if isinstance(text, str) else source.mapping(text, "its answer", video)
                yield f"{video!r:.60}", {"id": video} | answer
    elif isinstance(document, list):
        yield from ((f"entry {i}", entry) for i, entry in enumerate(document))
    elif isinstance(document, Iterator):
        yield from ((f"line {number}", entry) for number, entry in document)
    else:
        source.mapping(document, "the root", hint=f"answers are lines of {SHAPE}")


def audited(
    document: Any, source: Source, durations: Mapping[str, float] | None = None
) -> Iterator[tuple[str, Story, Answer]]:
    """Each answer of a file with its video; a duration of the line is asked first, then `durations`."""
    options = Options.of(source.argument)
    for at, entry in numbered(document, source):
        entry = source.mapping(entry, at, hint=f"an answer is {SHAPE}")
        key = next((k for k in IDS if k in entry), "id")
        video = source.text(source.entry(entry, key, None, at), f"{at} {key}", None, "an id is a JSON string")
        words = next((k for k in TEXTS if k in entry), "answer")
        text = source.text(source.entry(entry, words, video, at), f"{at} {words}", video)
        own: dict[str, float] = {}
        for name in ("duration", "fps", "frames"):
            if entry.get(name) is not None:
                own[name] = source.duration(entry[name], video, f"{at} {name}")
        if "duration" not in own and durations and video in durations:
            own["duration"] = durations[video]
        source.unused(entry, KNOWN, "answers")
        known = replace(options, **own)  # type: ignore[arg-type]
        answer = parse(text, known)
        note(video, answer.audit, source)
        yield video, Story(video, answer.events, own.get("duration")), answer


def note(video: str, audit: Audit, source: Source) -> None:
    """The audit's counts as remarks, and the count of answers that gave nothing."""
    if audit.unparsed:
        source.notes.tally["unparsed"] = source.notes.tally.get("unparsed", 0) + 1
        source.notes.add("{n} answers gave no event (unparsed): each counts as a video without events", named(video))
    for what, count in audit.deduced.items():
        source.notes.add(f"{{n}} events of answers: {what}", named(video), count)
    for what, count in audit.repaired.items():
        source.notes.add(f"{{n}} repairs in answers: {what}", named(video), count)
    for refused in audit.refused:
        source.notes.add(f"{{n}} lines of answers refused: {refused.why}", named(video))


def audit(
    path: str | Path, argument: str | None = None, durations: Mapping[str, float] | None = None
) -> tuple[Corpus, dict[str, Audit], Notes]:
    """A file of answers as a corpus, with the audit of each video and the remarks on all."""
    source = Source(usable(path), argument=argument)
    document, _ = opened(source.path, FORMAT)
    audits: dict[str, Audit] = {}
    stories: list[Story] = []
    for video, story, answer in audited(document, source, durations):
        if video in audits:
            raise source.wrong("this video id stands twice", video, None, "keep one of the two")
        audits[video] = answer.audit
        stories.append(story)
    source.report()
    corpus = Corpus({s.id: s for s in spoken(stories, source)}, name=str(source.path), format="answers")
    return corpus, audits, source.notes


def read(document: Any, source: Source) -> Iterator[Story]:
    stories = [story for _, story, _ in audited(document, source)]
    yield from spoken(stories, source)


def spoken(stories: list[Story], source: Source) -> list[Story]:
    """Where some events say something, those that do not say '': a metric of captions can then score them as wrong."""
    if all(e.caption is None for s in stories for e in s.events):
        return stories
    out = []
    for story in stories:
        silent = [i for i, e in enumerate(story.events) if e.caption is None]
        for i in silent:
            source.notes.add("{n} events of answers have no words: their caption is ''", named(story.id, i))
        out.append(
            replace(story, events=tuple(replace(e, caption=e.caption or "") for e in story.events)) if silent else story
        )
    return out


FORMAT = Format(
    name="answers",
    about="free-form answers of a language model, read with an audit: {id, answer, duration}",
    holds="predictions",
    sniff=sniff,
    read=read,
    lines=True,
    whole=True,
    argument=f"a unit for bare numbers ({', '.join(UNITS)}) and fps=, frames=, bins=, duration=, reversed=keep",
    example='{"id": "v_kite", "answer": "From 0 to 10.5 seconds, a kite rises.", "duration": 30.5}',
)
