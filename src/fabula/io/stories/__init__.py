"""Stories: events of videos, one file a format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fabula.core.registry import key
from fabula.documents.document import Document, open_document
from fabula.io.shelf import SHELVES

IDS = ("id", "uid", "video", "video_id", "vid", "image_id")  # what an answer calls its video
TEXTS = ("answer", "text", "output", "response", "prediction")  # and its words


def is_answer(entry: Any) -> bool:
    return (
        isinstance(entry, dict) and any(k in entry for k in IDS) and any(isinstance(entry.get(k), str) for k in TEXTS)
    )


SHELF = SHELVES["stories"]


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
