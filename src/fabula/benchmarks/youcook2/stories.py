"""YouCook2's own annotations (Zhou et al., AAAI 2018): {"database": {video: {duration, subset, annotations, …}}}.

One file holds the training and the validation set. `youcook2:validation` reads one of them; `youcook2` reads all,
with a note. Written with an argument, every video belongs to that subset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fabula.core.errors import SpecError, shown
from fabula.core.notes import name_id
from fabula.core.registry import close_to
from fabula.data.stories import Corpus, Event, Story
from fabula.documents.fields import Source, plain_caption, plain_segment
from fabula.documents.files import encode_json
from fabula.io.format import STORIES, Format, HeadRule, note_losses

SHAPE = '{"database": {video: {"duration": s, "subset": name, "annotations": [{"segment", "id", "sentence"}, …]}}}'
KNOWN = frozenset({"duration", "subset", "annotations"})
KNOWN_OF_EVENT = frozenset({"segment", "id", "sentence"})


def read_stories(document: Any, source: Source) -> Iterator[Story]:
    root = source.mapping(document, "the root", hint=f"YouCook2 is {SHAPE}")
    database = source.mapping(source.entry(root, "database"), "database", None, f"YouCook2 is {SHAPE}")
    source.unused(root, {"database"}, "the root")
    subsets = count_subsets(database, source)
    if source.argument is not None and source.argument not in subsets:
        near = close_to(source.argument, list(subsets)) if subsets else "no video names its subset"
        raise SpecError(f"{source.document} has no subset {source.argument!r}; {near}")
    if source.argument is None and len(subsets) > 1:
        held = ", ".join(f"{count} {shown(name)}" for name, count in list(subsets.items())[:4])
        source.notes.add(f"videos of {len(subsets)} subsets were read ({held}); 'youcook2:SUBSET' reads one of them")
    for video, entry in database.items():
        if source.argument is None or source.entry(entry, "subset", video) == source.argument:
            yield read_story(video, entry, source)


def count_subsets(database: dict[str, Any], source: Source) -> dict[str, int]:
    """How many videos each subset has, in file order."""
    counts: dict[str, int] = {}
    for video, entry in database.items():
        if "subset" in source.mapping(entry, "its entry", video, f"YouCook2 is {SHAPE}"):
            subset = source.text(entry["subset"], "subset", video, "subsets are 'training', 'validation', 'testing'")
            counts[subset] = counts.get(subset, 0) + 1
    return counts


def read_story(video: str, entry: dict[str, Any], source: Source) -> Story:
    """One video; without annotations (a test set without its answers) it is a video in which nothing is known."""
    duration = source.duration(entry["duration"], video) if "duration" in entry else None
    source.unused(entry, KNOWN, "videos")
    if "annotations" not in entry:
        source.notes.add("{n} videos have no 'annotations' and were read as videos without events", name_id(video))
        return Story(video, (), duration)
    entries = source.listing(entry["annotations"], "annotations", video, "it is a list of {segment, id, sentence}")
    events, ids = [], []
    for i, step in enumerate(entries):
        at = f"annotations[{i}]"
        step = source.mapping(step, at, video, "an annotation is {segment, id, sentence}")
        span = source.entry(step, "segment", video, at)
        segment = plain_segment(span) or source.segment(span, f"{at} segment", video)
        caption = plain_caption(step.get("sentence"))
        if caption is None and "sentence" in step:
            caption = source.caption(step["sentence"], f"{at} sentence", video)
        ids.append(source.number(step["id"], f"{at} id", video) if "id" in step else i)
        source.unused(step, KNOWN_OF_EVENT, "annotations")
        events.append(Event(segment, caption))
    if ids != sorted(ids):
        source.notes.add(
            "{n} videos list annotations in another order than their 'id'; file order is kept", name_id(video)
        )
    return Story(video, tuple(events), duration)


def write_stories(corpus: Corpus, target: Source) -> Iterable[str]:
    note_losses(corpus, target, scores=True)
    database = {}
    for video, story in corpus.items():
        entry: dict[str, Any] = {} if story.duration is None else {"duration": story.duration}
        entry |= {} if target.argument is None else {"subset": target.argument}
        entry["annotations"] = [
            {"segment": [e.segment.start, e.segment.end], "id": i}
            | ({} if e.caption is None else {"sentence": e.caption})
            for i, e in enumerate(story.events)
        ]
        database[video] = entry
    yield encode_json({"database": database}, target.document)


FORMAT = Format(
    name="youcook2",
    about="YouCook2 annotations: {database: {video: {duration, subset, annotations: [{segment, id, sentence}]}}}",
    known_by=(HeadRule(at="/", objects=("database",)),),
    holds="references",
    tasks=STORIES,
    read_stories=read_stories,
    write=write_stories,
    argument="one subset: youcook2:training, youcook2:validation",
    example='{"database": {"kite": {"duration": 31, "subset": "training", "annotations": [{"segment": [0, 10], '
    '"id": 0, "sentence": "rise"}]}}}',
)
