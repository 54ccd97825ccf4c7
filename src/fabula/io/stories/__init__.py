"""Stories: events of videos, one file a format; and the rules that know them by shape, asked in this order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fabula.core.registry import key
from fabula.documents.columns import OF_PDVC
from fabula.documents.document import Document, open_document
from fabula.io.shelf import Rule, Shelf

OF_SODAM = ("human_json_anno", "human_json_anno_en", "pred", "prediction_json", "prediction")
IDS = ("id", "uid", "video", "video_id", "vid", "image_id")  # what an answer calls its video
TEXTS = ("answer", "text", "output", "response", "prediction")  # and its words


def is_activitynet(head: Document) -> bool:
    root = head.sample
    return isinstance(root, dict) and any(isinstance(v, dict) and "timestamps" in v for v in root.values())


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


def is_pdvc(head: Document) -> bool:
    """A submission whose first event has a field of PDVC's."""
    found = head.sample.get("results") if isinstance(head.sample, dict) else None
    if not isinstance(found, dict):
        return False
    first = next((entries[0] for entries in found.values() if isinstance(entries, list) and entries), None)
    return isinstance(first, dict) and not OF_PDVC.isdisjoint(first)


def is_soccernet(head: Document, part: str = "annotations") -> bool:
    """One game of SoccerNet."""
    listed = head.sample.get(part) if isinstance(head.sample, dict) else None
    return isinstance(listed, list) and bool(listed) and isinstance(listed[0], dict) and "gameTime" in listed[0]


def is_soccernet_predictions(head: Document) -> bool:
    return is_soccernet(head, "predictions")


def is_submission(head: Document) -> bool:
    return isinstance(head.sample, dict) and "results" in head.sample


def is_table(head: Document) -> bool:
    """By its ending alone."""
    return head.is_table


def is_timechat(head: Document) -> bool:
    root = head.sample
    if not isinstance(root, dict):
        return False
    annotations = root.get("annotations")
    if isinstance(annotations, list):
        return bool(annotations) and isinstance(annotations[0], dict) and "segments" in annotations[0]
    first = next((v[0] for v in root.values() if isinstance(v, list) and v), None)
    return isinstance(first, dict) and "timestamp" in first and all(isinstance(v, list) for v in root.values())


def is_sodam(head: Document) -> bool:
    """SodaM's lines and lists; {clip: events} where times or words are written as only it reads them."""
    root = head.sample
    first = root[0] if isinstance(root, list) and root else root
    if isinstance(first, dict) and "clip_path" in first:
        return any(key in first for key in OF_SODAM)
    if not isinstance(root, dict) or head.lines:
        return False
    event: Any = next((v[0] for v in root.values() if isinstance(v, list) and v), None)
    if not isinstance(event, dict) or "timestamp" not in event:
        return False
    return isinstance(event["timestamp"], str) or "segment_detail_caption" in event


def is_vantage(head: Document) -> bool:
    """Its lines; of its tables only the truth is known by its columns (io/__init__.py)."""
    if head.is_table:
        return False
    root = head.sample
    first = root[0] if isinstance(root, list) and root else root
    return isinstance(first, dict) and isinstance(first.get("conversations"), list) and "id" in first


def is_youcook2(head: Document) -> bool:
    return isinstance(head.sample, dict) and isinstance(head.sample.get("database"), dict)


def first_entry(head: Document) -> Mapping[str, Any]:
    """Of a list its first element, else the document; of lines the first."""
    root = head.sample
    first = root[0] if isinstance(root, list) and root else root
    return first if isinstance(first, dict) else {}


SHELF = Shelf(
    __name__,
    (
        Rule("activitynet", is_activitynet, holds="references"),
        Rule("answers", is_answers, "*.jsonl, *.json", "predictions", module="fabula.io.answers"),
        Rule("fabula", is_fabula, "*.jsonl", module="fabula_jsonl"),
        Rule("pdvc", is_pdvc, holds="predictions"),
        Rule("pss", holds="references"),  # activitynet's shape
        Rule("soccernet", is_soccernet, holds="references"),
        Rule("soccernet-predictions", is_soccernet_predictions, holds="predictions", module="soccernet"),
        Rule("sodam", is_sodam, "*.jsonl, *.json"),  # before timechat, whose shape one of its is
        Rule("submission", is_submission, holds="predictions"),
        Rule("tasty", holds="references"),  # activitynet's shape
        Rule("timechat", is_timechat),
        Rule("vantage", is_vantage, "*.jsonl, *.json, *.tsv, *.csv, *.xlsx"),
        Rule("vlmevalkit", is_table, "*.csv, *.tsv, *.xlsx", "predictions"),
        Rule("youcook2", is_youcook2, holds="references"),
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
