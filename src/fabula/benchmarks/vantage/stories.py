"""VANTAGE-Bench's dense captions (VANTAGE-Bench, 2026): tables, submissions and truth, answers read as it reads them.

predictions   a table with index (or video), prediction · lines {"id", "conversations": [{"from": "assistant", …}]}
references    a table with index, video, category, answer · lines {"id", "category", "conversations": [{"from": "gpt"}]}

An id of lines is VIDEO__dvc_000012. An answer is the JSON from its first "[" to its last "]"; else from "{" to "}";
else what is written as "start", "end" and "caption" in quotation marks, in this order; else <hh:mm:ss><hh:mm:ss> words.
Times are seconds, mm:ss or hh:mm:ss; with `vantage:lenient` also what the evaluator reads since 6dd1dfb: 4.72s, 1m5s,
00:00:04,720, hh:mm:ss:ff, and of a range its own end. Where another time ends the published program, the event is left
out here and counted. Of several entries of a video the last that has an event counts.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from fabula.core.errors import SpecError
from fabula.core.notes import name_id
from fabula.data.stories import Event, Segment, Story
from fabula.documents.fields import Source, plain_caption
from fabula.io.answers.hosts import note_failed
from fabula.io.format import STORIES, Format, HeadRule

SPEAKERS = ("assistant", "gpt")  # a system, the truth
NUMBERED = re.compile(r"(.+)__dvc_(\d+)", re.S)
QUOTED = tuple(map(re.compile, (r'"start":\s*"([^"]+)"', r'"end":\s*"([^"]+)"', r'"caption":\s*"([^"]*)"')))
TAGGED = re.compile(r"<(\d{2}:\d{2}:\d{2})><(\d{2}:\d{2}:\d{2})>\s*(.+)")
NUMBER = r"(\d+(?:\.\d+)?)"
SPELLED = re.compile(rf"(?:{NUMBER}h)?(?:{NUMBER}m)?(?:{NUMBER}s)?", re.I)
SECONDS = re.compile(rf"{NUMBER}\s*(?:seconds|second|secs|sec)", re.I)
SHAPE = 'lines are {"id", "conversations": [{"from", "value"}]}, tables have index or video, and prediction or answer'


def read_stories(document: object, source: Source) -> Iterator[Story]:
    lenient = read_argument(source.argument)
    stories: dict[str, Story] = {}
    for at, entry in number_entries(document, source):
        entry = source.mapping(entry, at, hint=SHAPE)
        video, text, truth = read_entry(entry, at, source)
        if isinstance(text, str):
            note_failed(text, video, source)
        events = tuple(make_events(find_events(text, truth), video, truth, lenient, source))
        if not events:
            note_empty(video, truth, source)
        if video in stories:
            source.notes.add("{n} videos stand more than once; the last entry with events counts", name_id(video))
        if events or video not in stories:
            stories[video] = Story(video, events)
    yield from stories.values()


def read_argument(argument: str | None) -> bool:
    if argument not in (None, "strict", "lenient"):
        raise SpecError(f"vantage:{argument}; it may be vantage:strict (the default) or vantage:lenient")
    return argument == "lenient"


def number_entries(document: object, source: Source) -> Iterator[tuple[str, object]]:
    if isinstance(document, list):
        yield from ((f"entry {i}", entry) for i, entry in enumerate(document))
    elif isinstance(document, Iterator):
        yield from document
    else:
        yield "the root", source.mapping(document, "the root", hint=SHAPE)


def read_entry(entry: dict[str, Any], at: str, source: Source) -> tuple[str, Any, bool]:
    """Its video, what is said of it, and whether that is the truth."""
    truth = "prediction" not in entry and "answer" in entry
    if "conversations" in entry:
        turns = source.listing(entry["conversations"], f"{at} conversations")
        turn = next((t for t in reversed(turns) if isinstance(t, dict) and t.get("from") in SPEAKERS), {})
        text, truth = turn.get("value"), turn.get("from") == "gpt"
    else:
        text = source.entry(entry, "answer" if truth else "prediction", None, at)
    video = name_video(entry, at, source)
    if truth:
        if isinstance(entry.get("category"), str):
            source.categories[video] = entry["category"]
        if entry.get("index") is not None:
            source.add_alias(show_number(entry["index"]), video)
    return video, text, truth


def name_video(entry: dict[str, object], at: str, source: Source) -> str:
    key = next((k for k in ("video", "id", "index") if entry.get(k) is not None), "video")
    name = show_number(source.entry(entry, key, None, at))
    numbered = NUMBERED.fullmatch(name) if key == "id" else None
    return numbered[1] if numbered else name


def show_number(cell: object) -> str:
    """A workbook keeps whole numbers as decimals."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def note_empty(video: str, truth: bool, source: Source) -> None:
    if truth:
        return
    source.notes.tally["unparsed"] = source.notes.tally.get("unparsed", 0) + 1
    source.notes.add("{n} answers gave no event (unparsed): each counts as a video without events", name_id(video))


# ── an answer ───────────────────────────────────────────────────────────────────────────────────────────────────────


def find_events(text: object, truth: bool = False) -> list[object]:
    """What an answer lists; of the truth, which is JSON, a list and nothing else."""
    if truth:
        found = text if isinstance(text, list) else load(text) if isinstance(text, str) else []
        return found if isinstance(found, list) else []
    if not isinstance(text, str):
        return []
    text = text.strip()
    for opening, closing in ("[]", "{}"):
        first, last = text.find(opening), text.rfind(closing)
        if -1 < first < last and (found := load(text[first : last + 1])) is not None:
            return [found] if isinstance(found, dict) else list(found)
    listed = list(find_quoted(text)) or [(start, end, caption.strip()) for start, end, caption in TAGGED.findall(text)]
    return [{"start": start, "end": end, "caption": caption} for start, end, caption in listed]


def find_quoted(text: str) -> Iterator[tuple[str, ...]]:
    """The next "start", the next "end" after it, the next "caption" after that, and so on."""
    at = 0
    while True:
        found = []
        for pattern in QUOTED:
            if (match := pattern.search(text, at)) is None:
                return
            found.append(match[1])
            at = match.end()
        yield tuple(found)


def load(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def make_events(entries: list[object], video: str, truth: bool, lenient: bool, source: Source) -> Iterator[Event]:
    whose = "reference" if truth else "predicted"
    for i, entry in enumerate(entries):
        if not isinstance(entry, dict):
            source.notes.add(f"{{n}} {whose} events are no objects and are left out", name_id(video, i))
            continue
        ends = [entry.get(key) or (None if truth else entry.get(f"{key}_time")) for key in ("start", "end")]
        start, end = read_time(ends[0], lenient), read_time(ends[1], lenient, second=True)
        if start is None or end is None:
            source.notes.add(f"{{n}} {whose} events have no time that can be read and are left out", name_id(video, i))
            continue
        caption = entry.get("caption") or entry.get("description") or ""
        if not caption or not isinstance(caption, str):
            source.notes.add(f"{{n}} {whose} events have no words and are left out", name_id(video, i))
            continue
        yield Event(Segment(start, end), plain_caption(caption) or source.caption(caption, f"event {i} caption", video))


def read_time(value: object, lenient: bool = False, second: bool = False) -> float | None:
    """Seconds; nothing at all is 0; None where it cannot be read. `second`: of a range, its second end."""
    if value is None:
        return 0.0
    if isinstance(value, int | float):
        return as_seconds(value)
    text = str(value).strip()
    if not text:
        return 0.0
    if lenient and " - " in text:
        ends = text.split(" - ")
        text = (ends[-1] if second else ends[0]).strip()
    parts = (text.replace(",", ".") if lenient else text).split(":")
    if 2 <= len(parts) <= (4 if lenient else 3):
        return add_clock(parts[:3])
    if lenient and len(parts) == 1:
        spelled = SPELLED.fullmatch(text)
        if spelled and any(spelled.groups()):
            hours, minutes, seconds = (float(g) if g else 0.0 for g in spelled.groups())
            return as_seconds(hours * 3600 + minutes * 60 + seconds)
        if worded := SECONDS.fullmatch(text):
            return as_seconds(worded[1])
    return as_seconds(text)


def add_clock(parts: list[str]) -> float | None:
    read = [as_seconds(part) for part in parts]
    if any(part is None for part in read):
        return None
    return as_seconds(sum(part * 60 ** (len(read) - 1 - k) for k, part in enumerate(read) if part is not None))


def as_seconds(value: Any) -> float | None:
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) else None


FORMAT = Format(
    name="vantage",
    about="VANTAGE-Bench's dense captions: tables with prediction or answer, submissions, and answers as it reads them",
    known_by=(
        HeadRule(all=("id",), lists=("conversations",)),
        HeadRule(table=True, all=("answer",), none=("prediction",)),
    ),
    holds="either",
    tasks=STORIES,
    pattern="*.jsonl, *.json, *.tsv, *.csv, *.xlsx",
    read_stories=read_stories,
    argument="strict or lenient: which times are read (6dd1dfb reads more)",
    example='{"id": "kite__dvc_000000", "task": "dense_video_captioning", "conversations": [{"from": "assistant", '
    '"value": "[{\\"start\\": \\"00:00\\", \\"end\\": \\"00:10.5\\", \\"caption\\": \\"A kite rises.\\"}]"}]}',
)
