"""TimeChat's dense captions (Ren et al., CVPR 2024), both sides as its evaluator reads them.

predictions   {"x.mp4": [{"timestamp": [start, end], "caption": text}, …]}
ground truth  {"annotations": [{"image_id": "x.mp4", "segments": [[start, end], …], "pure_cap": "one. two. three"}]}

The captions of the ground truth stand in one string: `pure_cap` is cut at ". ", or `caption` at its time tokens.
Ids keep their `.mp4`, as both sides have it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from fabula.core.notes import name_id
from fabula.data.stories import Corpus, Event, Segment, Story
from fabula.documents.fields import Source, plain_caption, plain_segment
from fabula.documents.files import encode_json
from fabula.io.format import STORIES, Format, HeadRule, note_losses

PREDICTED = '{video: [{"timestamp": [start, end], "caption": text}, …]}'
ANNOTATED = '{"annotations": [{"image_id": video, "segments": [[start, end], …], "pure_cap": text}, …]}'
KNOWN = frozenset({"image_id", "segments", "pure_cap", "caption", "duration", "id"})
TOKENS = re.compile(r"(?:<time_token_\d{1,6}>\s{0,3})+")


def read_stories(document: Any, source: Source) -> Iterator[Story]:
    root = source.mapping(document, "the root", hint=f"TimeChat's files are {PREDICTED} or {ANNOTATED}")
    return read_annotations(root, source) if "annotations" in root else read_predictions(root, source)


def read_predictions(root: dict[str, Any], source: Source) -> Iterator[Story]:
    for video, entries in root.items():
        events = []
        for i, entry in enumerate(source.listing(entries, "its events", video, f"predictions are {PREDICTED}")):
            entry = source.mapping(entry, f"event {i}", video, 'an event is {"timestamp", "caption"}')
            span = source.entry(entry, "timestamp", video, f"event {i}")
            segment = plain_segment(span) or source.segment(span, f"event {i} timestamp", video)
            words = "sentence" if "sentence" in entry and "caption" not in entry else "caption"
            caption = plain_caption(entry.get(words))
            if caption is None and words in entry:
                caption = source.caption(entry[words], f"event {i} {words}", video)
            if words == "sentence":  # an ActivityNet submission whose results were taken out
                source.notes.add(
                    "{n} events call their caption sentence, as a submission's results do", name_id(video, i)
                )
            source.unused(entry, {"timestamp", words}, "predicted events")
            events.append(Event(segment, caption))
        yield Story(video, tuple(events))


def read_annotations(root: dict[str, Any], source: Source) -> Iterator[Story]:
    for i, entry in enumerate(source.listing(root["annotations"], "annotations", hint=f"it is {ANNOTATED}")):
        at = f"annotations[{i}]"
        entry = source.mapping(entry, at, None, f"it is {ANNOTATED}")
        video = source.text(source.entry(entry, "image_id", None, at), f"{at} image_id", None, "an id is a JSON string")
        spans = source.listing(source.entry(entry, "segments", video, at), "segments", video, "it is [[start, end], …]")
        segments = [plain_segment(s) or source.segment(s, f"segments[{k}]", video) for k, s in enumerate(spans)]
        duration = source.duration(entry["duration"], video) if "duration" in entry else None
        source.unused(entry, KNOWN, "videos")
        yield Story(video, tuple(map(Event, segments, cut_captions(entry, segments, video, source))), duration)


def cut_captions(entry: dict[str, Any], segments: list[Segment], video: str, source: Source) -> list[str]:
    """One caption a segment, out of the string that holds them all."""
    key = "pure_cap" if "pure_cap" in entry else "caption"
    text = source.caption(source.entry(entry, key, video), key, video)
    cut = text.split(". ") if key == "pure_cap" else [t.strip() for t in TOKENS.split(text)[1:]]
    cut = cut if segments else []
    if len(cut) != len(segments):
        both = f"{len(segments)} segments but {len(cut)} captions"
        raise source.wrong(both, video, key, "captions are parted by '. ' in pure_cap, by time tokens in caption")
    return cut


def write_stories(corpus: Corpus, target: Source) -> Iterable[str]:
    """The predictions' form."""
    note_losses(corpus, target, durations=True, scores=True)
    yield encode_json(
        {
            video: [
                {"timestamp": [e.segment.start, e.segment.end]} | ({} if e.caption is None else {"caption": e.caption})
                for e in story.events
            ]
            for video, story in corpus.items()
        },
        target.document,
    )


FORMAT = Format(
    name="timechat",
    about="TimeChat's dense captions: {video: [{timestamp, caption}]}, and its ground truth with segments and pure_cap",
    known_by=(
        HeadRule(at="/annotations/0", all=("segments",)),
        HeadRule(at="/*0", all=("timestamp",), none=("annotations",)),
    ),
    holds="either",
    tasks=STORIES,
    read_stories=read_stories,
    write=write_stories,
    example='{"kite.mp4": [{"timestamp": [0, 10.5], "caption": "A kite rises."}]}',
)
