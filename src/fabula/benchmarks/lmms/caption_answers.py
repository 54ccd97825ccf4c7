"""Captions that a model gave in its own words, a line each, whose references stand in another file: {"id", "answer"}.

Lines of lmms-eval's --log_samples are read so too, by the id that their task returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabula.benchmarks.lmms.captions import find_caption
from fabula.benchmarks.lmms.log import is_sample, sample_text, task_values
from fabula.documents.document import Document
from fabula.documents.fields import Source
from fabula.io.answers.hosts import note_failed
from fabula.io.format import Format
from fabula.io.stories import TEXTS

IDS = ("id", "uid", "image_id", "video_id", "video")
SHAPE = '{"id": id, "answer": text}'
WORDS = (*TEXTS, "caption")
Id = str | int


def read_answers(lines: Iterator[tuple[str, Any]], source: Source) -> dict[Id, str]:
    """One candidate an item."""
    found: dict[Id, str] = {}
    for at, entry in lines:
        entry = source.mapping(entry, at, hint=f"an answer is {SHAPE}")
        id, text = read_sample(entry, at, source) if is_sample(entry) else read_line(entry, at, source)
        if id in found:
            raise source.wrong("this item has two answers", id, at, "keep one of the two")
        found[id] = note_failed(source.caption(text, at, id), id, source)
    return found


def read_line(entry: dict[str, Any], at: str, source: Source) -> tuple[Id, Any]:
    key = next((k for k in IDS if k in entry), "id")
    id = source.identity(source.entry(entry, key, at=at), f"{at} {key}")
    source.unused(entry, {*IDS, *WORDS}, "answers")
    return id, source.entry(entry, next((k for k in WORDS if k in entry), "answer"), id, at)


def read_sample(entry: dict[str, Any], at: str, source: Source) -> tuple[Id, Any]:
    known = [value[key] for value in task_values(entry) for key in IDS if isinstance(value.get(key), str | int)]
    id = source.identity(known[0] if known else entry["doc_id"], f"{at} id")
    return id, sample_text(entry, at, source)


def is_answer(head: Document) -> bool:
    """A line with a model's words, or of lmms-eval's log; with a `cand` it is a pair."""
    entry = head.first_entry
    has_words = any(isinstance(entry.get(key), str) for key in ("answer", "text", "caption"))
    if not has_words and "filtered_resps" not in entry:
        return False
    return "cand" not in entry and "total_frames" not in entry and find_caption(entry) is None


FORMAT = Format(
    name="caption-answers",
    about="captions in a model's own words, a line an item: {id, answer}, or lmms-eval's --log_samples",
    sniff=is_answer,
    order="answers",
    holds="predictions",
    tasks=("captions",),
    pattern="*.jsonl",
    read_captions=read_answers,
    example='{"id": 1, "answer": "A kite rises."}',
)
