"""ActivityNet Captions ground truth (Krishna et al., ICCV 2017): {video: {duration, timestamps, sentences}}.

The same shape serves YouCook2 in PDVC's form, the PSS splits, Tasty and ActivityNet-Entities.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fabula.core.notes import name_id
from fabula.data.stories import Corpus, Event, Story
from fabula.documents.fields import Source, plain_captions, plain_segments
from fabula.documents.files import encode_json
from fabula.io.format import STORIES, Format, HeadRule, note_losses

SHAPE = '{video: {"duration": s, "timestamps": [[start, end], …], "sentences": [text, …]}}'
KNOWN = frozenset({"duration", "timestamps", "sentences"})


def read_stories(document: Any, source: Source) -> Iterator[Story]:
    for video, entry in source.mapping(document, "the root", hint=f"ground truth is {SHAPE}").items():
        entry = source.mapping(entry, "its entry", video, f"ground truth is {SHAPE}")
        times = source.listing(source.entry(entry, "timestamps", video), "timestamps", video, "it is [[start, end], …]")
        segments = plain_segments(times) or [source.segment(t, f"timestamps[{i}]", video) for i, t in enumerate(times)]
        captions: list[str | None] = [None] * len(segments)
        if "sentences" in entry:
            words = source.listing(entry["sentences"], "sentences", video, "it is [text, …]")
            if len(words) != len(segments):
                both = f"{len(segments)} timestamps but {len(words)} sentences"
                raise source.wrong(both, video, "sentences", "give one sentence per timestamp")
            captions = plain_captions(words) or [
                source.caption(w, f"sentences[{i}]", video) for i, w in enumerate(words)
            ]
        duration = source.duration(entry["duration"], video) if "duration" in entry else None
        source.unused(entry, KNOWN, "videos")
        yield Story(video, tuple(map(Event, segments, captions)), duration)


def write_stories(corpus: Corpus, target: Source) -> Iterable[str]:
    note_losses(corpus, target, scores=True)
    document = {}
    for video, story in corpus.items():
        entry: dict[str, Any] = {} if story.duration is None else {"duration": story.duration}
        entry["timestamps"] = [[e.segment.start, e.segment.end] for e in story.events]
        silent = [i for i, e in enumerate(story.events) if e.caption is None]
        if len(silent) < len(story.events) or not story.events:
            entry["sentences"] = [e.caption or "" for e in story.events]
            for i in silent:  # sentences stand in a list beside the timestamps: all or none
                target.notes.add(
                    "{n} events without a caption stand beside captioned ones: written as ''", name_id(video, i)
                )
        document[video] = entry
    yield encode_json(document, target.document)


FORMAT = Format(
    name="activitynet",
    about="ActivityNet Captions ground truth, and all data in its shape: {video: {duration, timestamps, sentences}}",
    known_by=(HeadRule(at="/*", all=("timestamps",)),),
    holds="references",
    tasks=STORIES,
    read_stories=read_stories,
    write=write_stories,
    plain="truth",
    example='{"v_kite": {"duration": 30.5, "timestamps": [[0, 10.5]], "sentences": ["A kite rises."]}}',
)
