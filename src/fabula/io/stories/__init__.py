"""Stories: events of videos, one file a format; and the rules that know them by shape, asked in this order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fabula.core.registry import key
from fabula.documents.document import Document, open_document
from fabula.io.shelf import Rule, Shelf

IDS = ("id", "uid", "video", "video_id", "vid", "image_id")  # what an answer calls its video
TEXTS = ("answer", "text", "output", "response", "prediction")  # and its words


def is_answer(entry: Any) -> bool:
    return (
        isinstance(entry, dict) and any(k in entry for k in IDS) and any(isinstance(entry.get(k), str) for k in TEXTS)
    )


def is_answers(head: Document) -> bool:
    """A line, or a list of them; {video: text} is read only when the format is named. Moments are not answers."""
    root = head.sample
    if head.lines and root == {}:  # a file of no lines has no videos in any format
        return True
    first = root[0] if isinstance(root, list) and root else root
    return is_answer(first) and "windows" not in first


def is_fabula(head: Document) -> bool:
    return isinstance(head.sample, dict) and "id" in head.sample and "events" in head.sample


def first_entry(head: Document) -> Mapping[str, Any]:
    """Of a list its first element, else the document; of lines the first."""
    root = head.sample
    first = root[0] if isinstance(root, list) and root else root
    return first if isinstance(first, dict) else {}


SHELF = Shelf(
    __name__,
    (
        Rule("answers", is_answers, "*.jsonl, *.json", "predictions", module="fabula.io.answers"),
        Rule("fabula", is_fabula, "*.jsonl", module="fabula_jsonl"),
    ),
    patterns=("*.jsonl", "*.xlsx", "*.tsv", "*.csv"),
    readers=("read_stories",),
    first=first_entry,
)


def find_sides(name: str) -> dict[str, str]:
    """The formats of both sides, where files of this format hold both; else nothing."""
    rule = next((r for r in SHELF.rules if r.other_side and key(r.name) == key(name)), None)
    if rule is None:
        return {}
    other = "predictions" if rule.holds == "references" else "references"
    return {rule.holds: rule.name, other: rule.other_side}


def find_record_format(file: str | Path | Document) -> str:
    """The format of a file of stories whose records are like those of other kinds, by its first record; else ""."""
    document = open_document(file)
    if document.ending not in (".json", ".jsonl") or not document.is_lasting:
        return ""
    rule = SHELF.find_shared(document)
    return "" if rule is None else rule.name
