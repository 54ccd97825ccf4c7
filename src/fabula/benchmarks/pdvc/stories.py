"""PDVC's prediction files (Wang et al., ICCV 2021): a submission whose events carry proposal_score, vid_duration, ….

`proposal_score` becomes the event's score and `vid_duration` the story's duration. `raw_box`, `sentence_score`,
`query_id` and `pred_event_count` are not kept, and a note says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fabula.benchmarks.activitynet.submission import build_entry, build_envelope, find_header, list_results, read_event
from fabula.core.notes import name_id
from fabula.data.stories import Corpus, Event, Story
from fabula.documents.columns import OF_PDVC
from fabula.documents.fields import Source, plain_number
from fabula.documents.files import encode_json
from fabula.io.format import STORIES, Format, HeadRule

KNOWN = frozenset({"sentence", "timestamp", "proposal_score", "vid_duration"})


def read_stories(document: Any, source: Source) -> Iterator[Story]:
    for video, entries in list_results(document, source):
        events: list[Event] = []
        duration: float | None = None
        for i, entry in enumerate(entries):
            segment, caption = read_event(entry, i, video, source)
            score = plain_number(entry.get("proposal_score"))
            if score is None and "proposal_score" in entry:
                score = source.number(entry["proposal_score"], f"event {i} proposal_score", video)
            if "vid_duration" in entry and (duration is None or plain_number(entry["vid_duration"]) != duration):
                seconds = source.duration(entry["vid_duration"], video, f"event {i} vid_duration")
                if duration is not None and seconds != duration:
                    both = f"{seconds:g} seconds, but {duration:g} in an earlier event"
                    raise source.wrong(both, video, f"event {i} vid_duration", "one video has one duration")
                duration = seconds
            source.unused(entry, KNOWN, "predicted events")
            events.append(Event(segment, caption, score))
        yield Story(video, tuple(events), duration)


def write_stories(corpus: Corpus, target: Source) -> Iterable[str]:
    found = {}
    for video, story in corpus.items():
        if story.duration is not None and not story.events:
            target.notes.add("lost in writing: the durations of {n} videos without events", name_id(video))
        found[video] = [
            build_entry(event, video, i, target)
            | ({} if event.score is None else {"proposal_score": event.score})
            | ({} if story.duration is None else {"vid_duration": story.duration})
            for i, event in enumerate(story.events)
        ]
    yield encode_json(build_envelope(found, corpus), target.document)


FORMAT = Format(
    name="pdvc",
    about="PDVC predictions: a submission whose events carry proposal_score and vid_duration",
    known_by=(HeadRule(at="/results/*0", any=tuple(sorted(OF_PDVC))),),
    holds="predictions",
    tasks=STORIES,
    read_stories=read_stories,
    write=write_stories,
    header=find_header,
    plain="pdvc",
    example='{"results": {"v_kite": [{"timestamp": [0, 10.5], "sentence": "A kite rises.", "proposal_score": 0.9}]}}',
)
