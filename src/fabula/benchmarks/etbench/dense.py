"""E.T. Bench's dense captions (Liu et al., NeurIPS 2024): dvc and slc; both sides in one record, answers in words.

references    "tgt": [[start, end], …] and "g": [caption, …]        predictions    "a": text

reader=fabula    answers are read by our own rules (io/answers), and every record is a story of its own
reader=etbench   as the published program does it (told.py): stories are kept by video, so that of
                 several records of a video the last that can be read counts; the others, and those that cannot be
                 read, are videos without a prediction
A protocol of E.T. Bench asks for the second by itself. As references, a file without answers is the data set's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fabula.benchmarks.etbench.captioned import read_captioned
from fabula.benchmarks.etbench.records import ARGUMENT, FIELDS, RECORD, Sample, of_document
from fabula.core.errors import SpecError
from fabula.core.notes import name_id
from fabula.core.registry import close_to
from fabula.data.stories import Event, Segment, Story
from fabula.documents.fields import Source
from fabula.io.answers.answer import parse
from fabula.io.answers.files import fill_silent, note_audit
from fabula.io.answers.times import Options
from fabula.io.format import STORIES, Format, HeadRule

TASKS = ("dvc", "slc")
KNOWN_READERS = ("fabula", "etbench")


@dataclass(frozen=True, slots=True)
class VideoRecord:
    """One record under the id that its story has."""

    id: str
    sample: Sample
    events: tuple[Event, ...] | None  # of its answer; None: it has none, or cannot be read


def read_references(document: object, source: Source) -> Iterator[Story]:
    records = read_records(document, source, audit=False)
    several = len({record.sample.source for record in records}) > 1
    for record in records:
        if several:
            source.categories[record.id] = record.sample.source
        yield Story(record.id, read_truth(record, source), find_duration(record, source))


def read_predictions(document: object, source: Source) -> Iterator[Story]:
    stories = [
        Story(record.id, record.events, find_duration(record, source))
        for record in read_records(document, source, audit=True)
        if record.events is not None
    ]
    yield from fill_silent(stories, source)


def read_records(document: object, source: Source, audit: bool) -> list[VideoRecord]:
    argument, _, reader = (source.argument or "").partition("reader=")
    reader = reader or "fabula"
    if reader not in KNOWN_READERS:
        raise SpecError(f"etbench-dense: no reader is called {reader!r}; {close_to(reader, list(KNOWN_READERS))}")
    samples = of_document(document, replace(source, argument=argument.strip(",") or None), TASKS)
    sources = list(dict.fromkeys(sample.source for sample in samples))
    if len(sources) > 1 and audit:
        note_text = f"records of {len(sources)} sources are scored together, and by source in by_type"
        source.notes.add(f"{note_text}; E.T. Bench's number is the mean over sources")
    return by_video(samples, source, audit) if reader == "etbench" else by_record(samples, source, audit)


def by_video(samples: Sequence[Sample], source: Source, audit: bool) -> list[VideoRecord]:
    """Of a video and source the last record that can be read, under the video's name; the others under their own."""
    events_by_sample = []
    for sample in samples:
        text = sample.entry.get("a")
        found = [] if text is None else read_captioned(source.text(text, "a", sample.id))
        events_by_sample.append(tuple(Event(Segment(*window), words) for window, words in found) or None)
        if text is not None and not found and audit:
            source.notes.tally["unparsed"] = source.notes.tally.get("unparsed", 0) + 1
            source.notes.add("{n} answers cannot be read, as E.T. Bench reads them (unparsed)", name_id(sample.id))
    videos = [(sample.source, read_video(sample, source)) for sample in samples]
    last = {video: i for i, video in enumerate(videos)}
    last |= {video: i for i, video in enumerate(videos) if events_by_sample[i] is not None}
    out, named = [], set[str]()
    for i, (sample, video) in enumerate(zip(samples, videos, strict=True)):
        counts, name = last[video] == i, video[1]
        if not counts and audit:
            source.notes.add("{n} records give way to another of their video and count as unanswered", name_id(name))
        id = f"{name} ({sample.id})" if not counts or name in named else name
        named.add(id)
        out.append(VideoRecord(id, sample, events_by_sample[i] if counts else None))
    return out


def by_record(samples: Sequence[Sample], source: Source, audit: bool) -> list[VideoRecord]:
    """Every record by itself: under its video's name the first of a video, the others under their own."""
    known_ids: set[str] = set()
    out = []
    for sample in samples:
        video = read_video(sample, source)
        id = f"{video} ({sample.id})" if video in known_ids else video
        known_ids.add(video)
        text, events = sample.entry.get("a"), None
        if text is not None and audit:
            answer = parse(source.text(text, "a", sample.id), Options(duration=find_length(sample, source)))
            note_audit(id, answer.audit, source)
            events = answer.events
        out.append(VideoRecord(id, sample, events))
    return out


def read_video(sample: Sample, source: Source) -> str:
    return source.text(source.entry(sample.entry, "video", sample.id, sample.at), "video", sample.id)


def read_truth(record: VideoRecord, source: Source) -> tuple[Event, ...]:
    entry, id = record.sample.entry, record.id
    times = source.listing(source.entry(entry, "tgt", id, record.sample.at), "tgt", id)
    words = source.listing(source.entry(entry, "g", id, record.sample.at), "g", id)
    if len(times) != len(words):
        raise source.wrong(
            f"{len(times)} windows and {len(words)} captions", id, "tgt", "each window has a caption in g"
        )
    return tuple(
        Event(source.segment(time, f"tgt[{i}]", id), source.caption(text, f"g[{i}]", id))
        for i, (time, text) in enumerate(zip(times, words, strict=True))
    )


def find_length(sample: Sample, source: Source) -> float | None:
    value = sample.entry.get("duration")
    return None if value is None else source.duration(value, sample.id)


def find_duration(record: VideoRecord, source: Source) -> float | None:
    return find_length(record.sample, source)


EXAMPLE = (
    '[{"task": "dvc", "source": "kites", "idx": 0, "video": "kite.mp4", "duration": 30.5, "tgt": [[0, 10.5]], '
    '"g": ["a kite rises"], "a": "0 - 10.5 seconds, a kite rises."}]'
)
FORMATS = (
    Format(
        name="etbench-dense",
        about="E.T. Bench's dvc and slc, the truth: [{task, source, idx, video, tgt, g}]",
        known_by=(HeadRule(all=FIELDS, any=("g", "a")),),
        shared=replace(RECORD, where=("task", TASKS)),
        other_side="etbench-dense-answers",
        holds="references",
        tasks=STORIES,
        pattern="*.json, *.jsonl",
        read_stories=read_references,
        argument=f"{ARGUMENT}; then reader=etbench",
        example=EXAMPLE,
    ),
    Format(
        name="etbench-dense-answers",
        about="E.T. Bench's dvc and slc, the answers: [{task, source, idx, video, a}]",
        other_side="etbench-dense",
        holds="predictions",
        tasks=STORIES,
        pattern="*.json, *.jsonl",
        read_stories=read_predictions,
        argument=f"{ARGUMENT}; then reader=etbench",
        guess=False,
        example=EXAMPLE,
    ),
)
