"""ActivityNet Captions submissions (densevid challenge): {"results": {video: [{sentence, timestamp}]}, …}."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fabula.core.notes import name_id
from fabula.data.stories import Corpus, Event, Segment, Story
from fabula.documents.fields import Source, plain_caption, plain_segment
from fabula.documents.files import encode_json
from fabula.io.format import STORIES, Format, HeadRule, note_losses

SHAPE = '{"results": {video: [{"sentence": text, "timestamp": [start, end]}, …]}}'
KNOWN = frozenset({"sentence", "timestamp"})
HEAD = {"version": "VERSION 1.0", "external_data": {"used": False, "details": ""}}


def read_stories(document: Any, source: Source) -> Iterator[Story]:
    for video, entries in list_results(document, source):
        events = []
        for i, entry in enumerate(entries):
            segment, caption = read_event(entry, i, video, source)
            if len(entry) > 1 + (caption is not None):
                source.unused(entry, KNOWN, "predicted events")
            events.append(Event(segment, caption))
        yield Story(video, tuple(events))


def list_results(document: Any, source: Source) -> Iterator[tuple[str, list[Any]]]:
    """Each video and its list of events."""
    root = source.mapping(document, "the root", hint=f"a submission is {SHAPE}")
    for video, entries in source.mapping(source.entry(root, "results"), "results", None, f"it is {SHAPE}").items():
        yield video, source.listing(entries, "its events", video, 'events are a list of {"sentence", "timestamp"}')


def read_event(entry: Any, i: int, video: str, source: Source) -> tuple[Segment, str | None]:
    """When and what of one predicted event; a submission without sentences is a segmentation."""
    if type(entry) is not dict:
        source.mapping(entry, f"event {i}", video, 'an event is {"sentence", "timestamp"}')
    segment = plain_segment(entry.get("timestamp"))
    if segment is None:
        times = source.entry(entry, "timestamp", video, f"event {i}")
        segment = source.segment(times, f"event {i} timestamp", video)
    caption = plain_caption(entry.get("sentence"))
    if caption is None and "sentence" in entry:
        caption = source.caption(entry["sentence"], f"event {i} sentence", video)
    return segment, caption


def find_header(document: Any) -> dict[str, object]:
    return {k: v for k, v in document.items() if k != "results"}


def write_stories(corpus: Corpus, target: Source) -> Iterable[str]:
    note_losses(corpus, target, durations=True, scores=True, header=False)
    found = {v: [build_entry(e, v, i, target) for i, e in enumerate(story.events)] for v, story in corpus.items()}
    yield encode_json(build_envelope(found, corpus), target.document)


def build_entry(event: Event, video: str, i: int, target: Source) -> dict[str, Any]:
    entry: dict[str, Any] = {} if event.caption is None else {"sentence": event.caption}
    if not entry:
        target.notes.add(
            "{n} events have no caption and no 'sentence': densevid_eval cannot read them", name_id(video, i)
        )
    return entry | {"timestamp": [event.segment.start, event.segment.end]}


def build_envelope(found: dict[str, Any], corpus: Corpus) -> dict[str, Any]:
    """The results under the header that was read; what the challenge's evaluator demands of it is filled in."""
    return HEAD | dict(corpus.external) | {"results": found}


FORMAT = Format(
    name="submission",
    about="ActivityNet Captions submissions: {results: {video: [{sentence, timestamp}]}}",
    known_by=(HeadRule(at="/", all=("results",)),),
    holds="predictions",
    tasks=STORIES,
    read_stories=read_stories,
    write=write_stories,
    header=find_header,
    plain="results",
    example='{"results": {"v_kite": [{"sentence": "A kite rises.", "timestamp": [0, 10.5]}]}}',
)
