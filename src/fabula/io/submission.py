"""ActivityNet Captions submissions (densevid challenge): {"results": {video: [{sentence, timestamp}]}, …}."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from fabula.core.nouns import Corpus, Event, Story
from fabula.io._fields import Source
from fabula.io._format import Format

SHAPE = '{"results": {video: [{"sentence": text, "timestamp": [start, end]}, …]}}'
KNOWN = ("sentence", "timestamp")


def sniff(document: Any) -> bool:
    return isinstance(document, dict) and "results" in document


def read(document: Any, source: Source) -> Iterator[Story]:
    root = source.mapping(document, "the root", hint=f"a submission is {SHAPE}")
    results = source.mapping(source.entry(root, "results"), "results", hint=f"a submission is {SHAPE}")
    for video, entries in results.items():
        yield Story(video, tuple(event(e, i, video, source) for i, e in enumerate(events_of(entries, video, source))))


def events_of(entries: Any, video: str, source: Source) -> list[Any]:
    return source.listing(entries, "its events", video, 'events are a list of {"sentence", "timestamp"}')


def event(entry: Any, i: int, video: str, source: Source, known: tuple[str, ...] = KNOWN) -> Event:
    """One predicted event; a submission without sentences is a segmentation."""
    entry = source.mapping(entry, f"event {i}", video, 'an event is {"sentence", "timestamp"}')
    segment = source.segment(source.entry(entry, "timestamp", video, f"event {i}"), f"event {i} timestamp", video)
    caption = source.caption(entry["sentence"], f"event {i} sentence", video) if "sentence" in entry else None
    for extra in entry.keys() - set(known):
        source.notes.add(f"the field {extra!r} of {{n}} predicted events was not used", None)
    return Event(segment, caption)


def header(document: Any) -> dict[str, object]:
    return {k: v for k, v in document.items() if k != "results"}


def write(corpus: Corpus) -> Iterable[str]:
    results = {
        video: [{"sentence": e.caption or "", "timestamp": [e.segment.start, e.segment.end]} for e in story.events]
        for video, story in corpus.items()
    }
    head = {"version": "VERSION 1.0", "external_data": {"used": False, "details": ""}} | dict(corpus.external)
    yield json.dumps({"version": head.pop("version"), "results": results, **head}, ensure_ascii=False)
    yield "\n"


FORMAT = Format(
    name="submission",
    about="ActivityNet Captions submissions: {results: {video: [{sentence, timestamp}]}}",
    holds="predictions",
    sniff=sniff,
    read=read,
    write=write,
    header=header,
)
