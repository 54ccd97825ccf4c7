"""Which file an object has the shape of: lines or one document, known by the fields of its first entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

from fabula.io.given.frames import QUERIES, VIDEOS

if TYPE_CHECKING:
    from fabula.io.given import Hint

# what an entry calls the one it is about
ENTRY_IDS = (
    "id",
    "qid",
    "desc_id",
    "image_id",
    "annotation_id",
    "video",
    "video_id",
    "vid",
    "query_id",
    "clip",
    "clip_path",
    "video_name",
    "uid",
    "index",
    "idx",
    "doc_id",
)
LISTS = (  # fields of the entries of formats that are a list in one document
    {"image_id", "caption"},
    {"image_id", "bbox"},
    {"annotation_id", "times"},
    {"test", "refs"},
    {"regions"},
)
RECORDS = ({"index", "prediction"}, {"index", "answer"}, {"doc", "resps"})  # the same, of questions


def is_entry(value: Any) -> bool:
    """A dict that tells of one thing; a document has its things by id, or under a name."""
    if not isinstance(value, Mapping):
        return False
    if isinstance(value.get("regions"), list | tuple):
        return True
    return any(key in value and not isinstance(value[key], Mapping | list | tuple) for key in ENTRY_IDS)


def is_event(value: Any) -> bool:
    """A row of a table of events: {"video", "start", "end", "caption"}, as `frame.to_dict("records")` gives it."""
    if not isinstance(value, Mapping) or not {"start", "end"} <= value.keys():
        return False
    is_flat = not any(isinstance(cell, Mapping | list | tuple) for cell in value.values())
    return is_flat and not value.keys().isdisjoint(VIDEOS) and value.keys().isdisjoint(QUERIES)


def is_events_by_video(value: Mapping[Any, Any]) -> bool:
    """{video: [(start, end, caption), …]}, captions or not."""
    events = [event for some in value.values() if isinstance(some, list | tuple) for event in some]
    return (
        bool(events)
        and all(isinstance(some, list | tuple) for some in value.values())
        and all(isinstance(e, list | tuple) and len(e) in (2, 3) and is_triple(*e) for e in events)
    )


def is_triple(start: Any, end: Any, caption: Any = "") -> bool:
    return isinstance(start, Real) and isinstance(end, Real) and isinstance(caption, str)


def find_ending(first: Sequence[Any], hint: Hint) -> str:
    """.jsonl, or .json where the entries are the list of a document."""
    if hint.format is not None and (lines := is_lines(hint.format)) is not None:
        return ".jsonl" if lines else ".json"
    if not first:
        return ".json" if hint.task == "captions" else ".jsonl"
    keys = set(first[0]) if isinstance(first[0], Mapping) else set[Any]()
    lists = (*LISTS, *RECORDS) if hint.task == "questions" else LISTS
    return ".json" if any(fields <= keys for fields in lists) else ".jsonl"


def is_lines(format: str) -> bool | None:
    """Whether files of a format are lines; None where there is no such format."""
    from fabula.core.registry import key
    from fabula.io import all_formats

    name = key(format.partition(":")[0])
    return next((f.lines for f in all_formats() if key(f.name) == name), None)


def is_labels(value: Mapping[Any, Any]) -> bool:
    """{clip: ids}: text, or lists of text."""
    return (
        bool(value)
        and all(
            isinstance(v, str) or (isinstance(v, list | tuple) and all(isinstance(x, str) for x in v))
            for v in value.values()
        )
        and "id" not in value
    )
