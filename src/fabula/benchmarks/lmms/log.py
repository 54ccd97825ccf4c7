"""A line of lmms-eval's --log_samples (0.7.3).

{"doc_id", "target", "filtered_resps", "resps"?, "doc"?, a key per metric: what its task returned}
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fabula.core.notes import name_id
from fabula.documents.fields import Source
from fabula.io.answers.hosts import Windows, read_windows

IDS = ("id", "uid", "video", "video_id", "vid", "video_path", "image_id")  # what a task calls its video
TRUTHS = ("gt", "timestamp", "span", "windows", "answer")  # what tasks of grounding call the truth
KEYED = re.compile(r"(.*?)>>>(.*)>>>(.*)", flags=re.S)  # video>>>sentence>>>windows: charades_sta, timelens


def is_sample(entry: object) -> bool:
    return isinstance(entry, dict) and "doc_id" in entry and ("filtered_resps" in entry or "resps" in entry)


def sample_text(entry: dict[str, object], at: str, source: Source) -> str:
    """What the model answered: one text, be it in lists of lists."""
    response = entry["filtered_resps"] if "filtered_resps" in entry else entry.get("resps")
    while isinstance(response, list) and len(response) == 1:
        response = response[0]
    if isinstance(response, list) and response and all(isinstance(s, str) for s in response):
        source.notes.add("{n} samples hold several answers; the first counts", name_id(entry.get("doc_id")))
        response = response[0]
    return source.text(response, f"{at} filtered_resps", entry.get("doc_id"), "lmms-eval keeps an answer as text")


def task_values(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What the task knew of the sample: its document where it is kept, then what it returned for its metrics."""
    for key in ("doc", *(k for k in entry if k not in ("doc", "token_counts", "input_media"))):
        if isinstance(entry.get(key), dict):
            yield entry[key]


def sample_id(entry: dict[str, object]) -> str:
    """The video's own name where the log has it, else the number of the document."""
    for known in task_values(entry):
        for key in IDS:
            if isinstance(known.get(key), str) or (key == "uid" and type(known.get(key)) is int):
                return str(known[key])
    return str(entry["doc_id"])


def sample_duration(entry: dict[str, object]) -> object:
    return next((k["duration"] for k in task_values(entry) if k.get("duration") is not None), None)


def sample_truth(entry: dict[str, object]) -> tuple[str, str | None, Windows] | None:
    """(video, sentence, windows) of a sample of grounding; None where the log does not hold the truth."""
    for known in task_values(entry):
        if {"answer", "pred", "video"} <= known.keys() and not read_windows(known["answer"]):
            return None  # words for a segment that was given
        keyed = KEYED.fullmatch(next(iter(known))) if len(known) == 1 else None
        if keyed is not None and (windows := read_windows(keyed.group(3))):
            return keyed.group(1), keyed.group(2), windows
        for key in TRUTHS:
            if windows := read_windows(known.get(key)):
                text = next((known[k] for k in ("query", "caption", "question") if isinstance(known.get(k), str)), None)
                return sample_id(entry), text, windows
    return None
