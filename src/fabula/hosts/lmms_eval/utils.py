"""Tasks for lmms-eval (0.7.3): dense captions and grounding, answers read and scored by Fabula.

lmms-eval loads this file by its path. A document is a line of dense.jsonl or grounding.jsonl beside it; videos are
looked for in FABULA_VIDEOS. What `process_results` returns is kept by --log_samples: a run can be scored again.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import fabula
from fabula.data.stories import Corpus, Event, Segment, Story
from fabula.hosts.rewards import RewardFunction
from fabula.io.answers import Options, parse

Doc = dict[str, Any]
STORIES = ("SODA_c", "SODA_d", "METEOR", "CIDEr")
WINDOWS = ("R1_30", "R1_50", "R1_70", "mIoU")


def find_video(doc: Doc) -> list[str]:
    return [str(Path(os.environ.get("FABULA_VIDEOS", ".")) / doc["video"])]


def ask(doc: Doc, lmms_eval_specific_kwargs: dict[str, str] | None = None) -> str:
    words = lmms_eval_specific_kwargs or {}
    return f"{words.get('pre_prompt', '')}{doc.get('text', '')}{words.get('post_prompt', '')}"


# ── dense captions ───────────────────────────────────────────────────────────────────────────────────────────────────


def dense_target(doc: Doc) -> str:
    return "\n".join(f"{s:g} - {e:g} seconds: {text}" for (s, e), text in read_events(doc))


def read_events(doc: Doc) -> list[tuple[tuple[float, float], str]]:
    return [((float(e["start"]), float(e["end"])), e["caption"]) for e in doc["events"]]


def dense_results(doc: Doc, results: list[str]) -> dict[str, Doc]:
    """The answer beside its truth, under every metric."""
    record = {k: doc.get(k) for k in ("id", "duration", "events")} | {"answer": results[0]}
    return {f"fabula_{name}": record for name in (*STORIES, "unread")}


def predicted(record: Doc) -> Story:
    events = parse(record["answer"], Options(duration=record.get("duration"))).events
    spoken = tuple(Event(e.segment, e.caption or "") for e in events)
    return Story(record["id"], spoken, record.get("duration"))


def score_stories(records: list[Doc], metric: str) -> float:
    """As `fabula score` scores the same answers; an answer that cannot be read is a video without events. × 100"""
    refs = {r["id"]: Story(r["id"], tuple(Event(Segment(*t), text) for t, text in read_events(r))) for r in records}
    preds = {r["id"]: predicted(r) for r in records}
    score = fabula.score(Corpus(preds), Corpus(refs), metrics=metric, task="dense")[metric]
    return 100 * float(score.value)


def soda_c(records: list[Doc]) -> float:
    return score_stories(records, "SODA_c")


def soda_d(records: list[Doc]) -> float:
    return score_stories(records, "SODA_d")


def meteor(records: list[Doc]) -> float:
    return score_stories(records, "METEOR")


def cider(records: list[Doc]) -> float:
    return score_stories(records, "CIDEr")


def unread_stories(records: list[Doc]) -> float:
    """Answers without any event, per cent."""
    return 100 * sum(not predicted(r).events for r in records) / len(records)


# ── grounding ────────────────────────────────────────────────────────────────────────────────────────────────────────


def grounding_target(doc: Doc) -> str:
    return "; ".join(f"{s:g} - {e:g} seconds" for s, e in doc["windows"])


def grounding_results(doc: Doc, results: list[str]) -> dict[str, Doc]:
    known = {k: doc.get(k) for k in ("id", "video", "text", "windows", "duration")}
    return {f"fabula_{name}": known | {"answer": results[0]} for name in (*WINDOWS, "unread")}


def overlaps(records: list[Doc]) -> list[float]:
    """IoU of each answer's first window; 0 where there is none."""
    iou = RewardFunction("Grounding", refs="windows")
    columns = {name: [r.get(name) for r in records] for name in ("windows", "duration")}
    return [found or 0.0 for found in iou([r["answer"] for r in records], **columns)]


def share(records: list[Doc], level: float) -> float:
    return 100 * sum(found >= level for found in overlaps(records)) / len(records)


def r1_30(records: list[Doc]) -> float:
    return share(records, 0.3)


def r1_50(records: list[Doc]) -> float:
    return share(records, 0.5)


def r1_70(records: list[Doc]) -> float:
    return share(records, 0.7)


def miou(records: list[Doc]) -> float:
    return 100 * sum(overlaps(records)) / len(records)


def unread_windows(records: list[Doc]) -> float:
    return 100 * sum(not parse(r["answer"], Options(duration=r.get("duration"))).events for r in records) / len(records)
