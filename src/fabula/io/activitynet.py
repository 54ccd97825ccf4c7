"""ActivityNet Captions ground truth (Krishna et al., ICCV 2017): {video: {duration, timestamps, sentences}}.

The same shape serves YouCook2 in PDVC's form, the PSS splits, Tasty and ActivityNet-Entities.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from fabula.core.nouns import Corpus, Event, Story
from fabula.io._fields import Source
from fabula.io._format import Format

SHAPE = '{video: {"duration": s, "timestamps": [[start, end], …], "sentences": [text, …]}}'


def sniff(document: Any) -> bool:
    return isinstance(document, dict) and any(isinstance(v, dict) and "timestamps" in v for v in document.values())


def read(document: Any, source: Source) -> Iterator[Story]:
    for video, entry in source.mapping(document, "the root", hint=f"ground truth is {SHAPE}").items():
        entry = source.mapping(entry, "its entry", video, f"ground truth is {SHAPE}")
        times = source.listing(source.entry(entry, "timestamps", video), "timestamps", video)
        segments = [source.segment(t, f"timestamps[{i}]", video) for i, t in enumerate(times)]
        captions: list[str | None] = [None] * len(segments)
        if "sentences" in entry:
            words = source.listing(entry["sentences"], "sentences", video)
            if len(words) != len(segments):
                both = f"{len(segments)} timestamps but {len(words)} sentences"
                raise source.wrong(both, video, None, "give one sentence per timestamp")
            captions = [source.caption(w, f"sentences[{i}]", video) for i, w in enumerate(words)]
        duration = source.duration(entry["duration"], video) if "duration" in entry else None
        yield Story(video, tuple(map(Event, segments, captions)), duration)


def write(corpus: Corpus) -> Iterable[str]:
    document = {}
    for video, story in corpus.items():
        entry: dict[str, Any] = {} if story.duration is None else {"duration": story.duration}
        entry["timestamps"] = [[e.segment.start, e.segment.end] for e in story.events]
        if all(e.caption is not None for e in story.events):
            entry["sentences"] = story.captions
        document[video] = entry
    yield json.dumps(document, ensure_ascii=False)
    yield "\n"


FORMAT = Format(
    name="activitynet",
    about="ActivityNet Captions ground truth, and all data in its shape: {video: {duration, timestamps, sentences}}",
    holds="references",
    sniff=sniff,
    read=read,
    write=write,
)
