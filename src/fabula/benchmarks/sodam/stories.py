"""SodaM's files (Yao et al., ICML 2026): references with key points by dimension, predictions in four shapes.

references    lines {"clip_path", "human_json_anno" (or …_en): [{"timestamp", six texts, "keypoints"}, …]}
predictions   {clip: [{"timestamp", "caption"}, …]} · lines {"clip_path", "prediction_json" or "prediction"}
              [{"clip_path", "pred": […]}, …] · lines {"clip_path", "pred": […]}

A time is [start, end], or text with a dash between seconds, mm:ss or hh:mm:ss. Without "caption" an event says its
texts, a line "[field]<tab>text" each. A prediction given as text is mended as its evaluator mends it (`mend`). Clips
are also known by their file names alone, and several entries of one clip are laid end to end.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from fabula.core.notes import name_id
from fabula.data.stories import DIMENSIONS, Checklist, Event, Segment, Story
from fabula.documents.fields import Source, plain_caption
from fabula.io.format import STORIES, Format, HeadRule

TRUTH = ("human_json_anno", "human_json_anno_en")
FORETOLD = ("prediction_json", "prediction_json_en", "prediction")
TEXTS = (*DIMENSIONS, "storyline")  # what an event says where it has no caption, in this order
CALLED = (*TEXTS, "timestamp", "segment_id", "character_list", "visual_content")  # fields that a text is mended by
HEAD = re.compile(rf'"(?:{"|".join(CALLED)})"\s*:\s*"')
SHAPE = 'lines are {"clip_path", "human_json_anno"}, {"clip_path", "prediction_json"} or {"clip_path", "pred"}'


def read_stories(document: Any, source: Source) -> Iterator[Story]:
    told: dict[str, list[Event]] = {}
    for at, clip, entry in number_entries(document, source):
        field = next((f for f in TRUTH if f in entry), None)
        if field is not None:
            yield read_truth(clip, source.listing(entry[field], field, clip), source)
            continue
        told.setdefault(clip, []).extend(read_prediction(clip, find_events(clip, entry, at, source), source))
    yield from (Story(clip, tuple(events)) for clip, events in told.items())


def number_entries(document: Any, source: Source) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each entry with its place and its clip."""
    if isinstance(document, dict) and "clip_path" not in document:
        yield from ((f"{clip!r:.60}", clip, {"pred": events}) for clip, events in document.items())
        return
    if isinstance(document, list):
        numbered: Any = ((f"entry {i}", entry) for i, entry in enumerate(document))
    elif isinstance(document, Iterator):
        numbered = document
    else:
        numbered = [("the root", document)]
    for at, entry in numbered:
        entry = source.mapping(entry, at, hint=SHAPE)
        yield at, source.text(source.entry(entry, "clip_path", None, at), f"{at} clip_path"), entry


def find_events(clip: str, entry: dict[str, Any], at: str, source: Source) -> list[Any]:
    """The list of events of a prediction, mended where it is text."""
    if "pred" in entry:
        return source.listing(entry["pred"] or [], f"{at} pred", clip)
    if not any(f in entry for f in FORETOLD):
        raise source.wrong("neither pred nor prediction_json", clip, at, SHAPE)
    events: Any = next((entry[f] for f in FORETOLD if entry.get(f)), [])
    if isinstance(events, str):
        events = mend(events)
    if not isinstance(events, list) or not events:
        source.notes.tally["unparsed"] = source.notes.tally.get("unparsed", 0) + 1
        source.notes.add(
            "{n} predictions gave no event (unparsed): each counts as a clip without events", name_id(clip)
        )
        return []
    return events


def read_truth(clip: str, entries: list[Any], source: Source) -> Story:
    source.add_alias(clip.rpartition("/")[2], clip)
    events = []
    for i, entry in enumerate(entries):
        entry = source.mapping(entry, f"event {i}", clip, 'an event is {"timestamp", …, "keypoints"}')
        segment = read_time(entry.get("timestamp"))
        if segment is None:
            source.notes.add("{n} reference events have no time that can be read and are left out", name_id(clip, i))
            continue
        points = entry.get("keypoints")
        checklist = read_checklist(points, clip, i, source) if isinstance(points, dict) else None
        events.append(Event(segment, join_texts(entry), checklist=checklist))
    return Story(clip, tuple(events))


def read_checklist(points: dict[str, Any], clip: str, i: int, source: Source) -> Checklist:
    """Every known dimension with its points, be there none."""
    source.unused(points, set(DIMENSIONS), "key points")
    found = []
    for dimension in DIMENSIONS:
        at = f"event {i} keypoints.{dimension}"
        listed = source.mapping(points.get(dimension, {}), at, clip).get("gt_keypoints", [])
        found.append((dimension, tuple(map(str, source.listing(listed, f"{at}.gt_keypoints", clip)))))
    return tuple(found)


def read_prediction(clip: str, entries: list[Any], source: Source) -> Iterator[Event]:
    for i, entry in enumerate(entries):
        if not isinstance(entry, dict):
            source.notes.add("{n} predicted events are no objects and are left out", name_id(clip, i))
            continue
        segment = read_time(entry.get("timestamp"))
        if segment is None:
            source.notes.add("{n} predicted events have no time that can be read and are left out", name_id(clip, i))
            continue
        said = entry.get("caption")
        caption = said.strip() if isinstance(said, str) and said.strip() else join_texts(entry)
        yield Event(segment, plain_caption(caption) or source.caption(caption, f"event {i} caption", clip))


def join_texts(entry: dict[str, Any]) -> str:
    """A line for every text, the English one first, and a full stop."""
    lines = []
    for field in TEXTS:
        for key in (f"{field}_en", field):
            if isinstance(entry.get(key), str) and entry[key].strip():
                lines.append(f"[{key}]\t{entry[key].strip()}")
                break
    return "\n".join(lines) + "." if lines else ""


def read_time(value: Any) -> Segment | None:
    """Two ends, in whichever order; None where they cannot be read."""
    if isinstance(value, str):
        start, dash, end = value.strip().partition("-")
        value = (clock_seconds(start), clock_seconds(end)) if dash else None
    if not isinstance(value, list | tuple) or len(value) != 2:
        return None
    try:
        ends = Segment(float(value[0]), float(value[1]))
    except (TypeError, ValueError, OverflowError):
        return None
    return ends if math.isfinite(ends.start) and math.isfinite(ends.end) else None


def clock_seconds(text: str) -> float | None:
    """ss, mm:ss, hh:mm:ss."""
    parts = text.strip().split(":")
    if len(parts) > 3:
        return None
    try:
        return sum((float(part) * 60 ** (len(parts) - 1 - k) for k, part in enumerate(parts)), 0.0)
    except ValueError:
        return None


def mend(text: str) -> Any:
    """A list of events out of a model's text, as the evaluator's str_to_json makes it; None where it makes nothing.

    Fences go. Whatever stands between two fields that it knows by name belongs to the first: up to its last quotation
    mark it is the value, and quotation marks within are escaped (those that were, twice: such texts are lost). A text
    that breaks off within a value is closed.
    """
    text = text.strip()
    for fence in ("```json", "```"):
        text = text.removeprefix(fence)
    text = text.removesuffix("```")
    if not text.startswith(("[", "{")):
        text = text[text.find("[") :] if "[" in text else ""
    heads = list(HEAD.finditer(text))
    if not heads:
        return None
    parts = [text[: heads[0].end()]]
    for head, after in pairwise(heads):
        parts += [escape(text[head.end() : after.start()]), after.group()]
    last = text[heads[-1].end() :]
    whole = last.strip().endswith(("}", "]")) and '"' in last
    parts += [escape(last)] if whole else [last.replace('"', '\\"'), '"}]']
    return load("".join(parts))


def escape(chunk: str) -> str:
    """The value before its last quotation mark, with what it quotes escaped, and what follows as it is."""
    value, mark, rest = chunk.rpartition('"')
    return value.replace('"', '\\"') + mark + rest


def load(text: str) -> Any:
    for tried in (text, text.replace("\n", "\\n")):
        try:
            return json.loads(tried)
        except (ValueError, RecursionError):
            continue
    return None


FORMAT = Format(
    name="sodam",
    about="SodaM's files: references with key points {clip_path, human_json_anno}, predictions in four shapes",
    known_by=(
        HeadRule(all=("clip_path",), any=(*TRUTH, "pred", "prediction_json", "prediction")),
        HeadRule(at="/*0", texts=("timestamp",), lines=False),
        HeadRule(at="/*0", all=("timestamp", "segment_detail_caption"), lines=False),
    ),
    holds="either",
    tasks=STORIES,
    pattern="*.jsonl, *.json",
    read_stories=read_stories,
    example='{"clip_path": "d/kite.mp4", "human_json_anno": [{"timestamp": "00:00-00:10", "segment_detail_caption": '
    '"A kite rises", "keypoints": {"segment_detail_caption": {"gt_keypoints": ["a kite", "it rises"]}}}]}',
)
