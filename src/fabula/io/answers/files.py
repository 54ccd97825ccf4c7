"""Files of free-form answers: {"id" or "video", "answer" or "text" or "output", "duration"?, "fps"?, "frames"?}.

An answer a video, as JSON Lines, as a list, or as {video: answer}. An answer without any event is counted as unparsed
and named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fabula.core.notes import Notes, name_id
from fabula.data.stories import Corpus, Story
from fabula.documents.document import open_document
from fabula.documents.fields import Source
from fabula.io.answers.answer import Answer, Audit, parse
from fabula.io.answers.times import UNITS, Options
from fabula.io.format import STORIES, Format, HeadRule
from fabula.io.stories import IDS, TEXTS, is_answer

SHAPE = '{"id": video, "answer": text, "duration": s}'
KNOWN = frozenset({*IDS, *TEXTS, "duration", "fps", "frames", "run"})  # run: of fabula ask


def number_entries(document: Any, source: Source) -> Iterator[tuple[str, Any]]:
    """Each entry of the file with its place."""
    if isinstance(document, dict):
        if is_answer(document):
            yield "the root", document
        else:
            for video, text in document.items():
                answer = {"answer": text} if isinstance(text, str) else source.mapping(text, "its answer", video)
                yield f"{video!r:.60}", {"id": video} | answer
    elif isinstance(document, list):
        yield from ((f"entry {i}", entry) for i, entry in enumerate(document))
    elif isinstance(document, Iterator):
        yield from document
    else:
        source.mapping(document, "the root", hint=f"answers are lines of {SHAPE}")


def audit_entries(
    document: Any, source: Source, durations: Mapping[str, float] | None = None
) -> Iterator[tuple[str, Story, Answer]]:
    """Each answer of a file with its video; a duration of the line is asked first, then `durations`."""
    options = Options.of(source.argument)
    for at, entry in number_entries(document, source):
        entry = source.mapping(entry, at, hint=f"an answer is {SHAPE}")
        key = next((k for k in IDS if k in entry), "id")
        named = source.entry(entry, key, None, at)
        if key == "uid" and type(named) is int:  # PLM-VideoBench counts its rows
            named = str(named)
        video = source.text(named, f"{at} {key}", None, "an id is a JSON string")
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
        note_audit(video, answer.audit, source)
        yield video, Story(video, answer.events, own.get("duration")), answer


def note_audit(video: str, audit: Audit, source: Source) -> None:
    """The audit's counts as remarks, and the count of answers that gave nothing."""
    if audit.unparsed:
        source.notes.tally["unparsed"] = source.notes.tally.get("unparsed", 0) + 1
        source.notes.add("{n} answers gave no event (unparsed): each counts as a video without events", name_id(video))
    for what, count in audit.deduced.items():
        source.notes.add(f"{{n}} events of answers: {what}", name_id(video), count)
    for what, count in audit.repaired.items():
        source.notes.add(f"{{n}} repairs in answers: {what}", name_id(video), count)
    for refused in audit.refused:
        source.notes.add(f"{{n}} lines of answers refused: {refused.why}", name_id(video))


def audit(
    path: str | Path, argument: str | None = None, durations: Mapping[str, float] | None = None
) -> tuple[Corpus, dict[str, Audit], Notes]:
    """A file of answers as a corpus, with the audit of each video and the remarks on all."""
    from fabula.io import open_stories

    source = Source(open_document(path), argument=argument)
    document, _ = open_stories(source.document, FORMAT)
    audits: dict[str, Audit] = {}
    stories: list[Story] = []
    for video, story, answer in audit_entries(document, source, durations):
        if video in audits:
            raise source.wrong("this video id stands twice", video, None, "keep one of the two")
        audits[video] = answer.audit
        stories.append(story)
    source.report()
    corpus = Corpus({s.id: s for s in fill_silent(stories, source)}, name=str(source.document), format="answers")
    return corpus, audits, source.notes


def read_stories(document: Any, source: Source) -> Iterator[Story]:
    stories = [story for _, story, _ in audit_entries(document, source)]
    yield from fill_silent(stories, source)


def fill_silent(stories: list[Story], source: Source) -> list[Story]:
    """Where some events say something, those that do not say '': a metric of captions can then score them as wrong."""
    if all(e.caption is None for s in stories for e in s.events):
        return stories
    out = []
    for story in stories:
        silent = [i for i, e in enumerate(story.events) if e.caption is None]
        for i in silent:
            source.notes.add("{n} events of answers have no words: their caption is ''", name_id(story.id, i))
        out.append(
            replace(story, events=tuple(replace(e, caption=e.caption or "") for e in story.events)) if silent else story
        )
    return out


FORMAT = Format(
    name="answers",
    about="free-form answers of a language model, read with an audit: {id, answer, duration}",
    holds="predictions",
    tasks=STORIES,
    known_by=(
        HeadRule(any=IDS, texts=TEXTS, none=("windows",)),  # {video: text} is read only when the format is named
        HeadRule(at="/", only=True, lines=True),  # a file of no lines has no videos in any format
    ),
    pattern="*.jsonl, *.json",
    spoken="by reader",
    read_stories=read_stories,
    argument=f"a unit for bare numbers ({', '.join(UNITS)}) and fps=, frames=, bins=, duration=, reversed=, reader=",
    example='{"id": "v_kite", "answer": "From 0 to 10.5 seconds, a kite rises.", "duration": 30.5}',
)
