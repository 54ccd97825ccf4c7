"""What files are for, by how they begin: the task of predictions where nobody names one.

Stories are what is left: their formats are known by the whole document (io/stories), and cost more to look at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from fabula.core.errors import SpecError
from fabula.core.regions import FORMS
from fabula.io import captions, identity, moments, regions
from fabula.io.files import check_path, holds_only_stories
from fabula.io.head import Head

MOMENTS = ("moments", "highlights", "grounding")
# of formats of moments: what is asked of them
ASKED = {
    "charades-sta": "grounding",
    "didemo": "moments",
    "qvhighlights": "highlights",
    "qvhighlights-predictions": "highlights",
    "rvmr": "moments",
    "rvmr-predictions": "moments",
    "timechat-tvg": "grounding",
    "tvr": "moments",
    "tvr-lines": "moments",
    "tvr-predictions": "moments",
    "verified-cog": "moments",
    "verified-fig": "moments",
}
ANSWERED = re.compile(r'\s*\{\s*"[^"]*"\s*:\s*\{[^{}\[]*"timestamp"\s*:')  # of timechat-tvg: a window by its id
DETECTED = re.compile(r'\s*\{\s*"(?:opt|results)"\s*:\s*(?:\[|\{[^{}]*\}\s*,\s*"results"\s*:\s*\[)')


def infer_task(predictions: str | Path, refs: Sequence[str | Path], format: str | None = None) -> str | None:
    """The task that predictions of this shape are for; None: stories. Where several are, an error names them."""
    path = check_path(predictions)
    if holds_only_stories(path):
        return None
    kind = name_kind(path, format)
    if kind != "moments":
        return kind
    asked = [find_asked(path, "predictions", format), *(find_asked(check_path(ref), "references") for ref in refs)]
    found = next((task for task in asked if task is not None), None)
    if found is None:
        several = ", ".join(f"--task {task}" for task in MOMENTS)
        raise SpecError(f"{path} holds windows of queries, which several tasks score; say which: {several}")
    return found


def name_kind(path: Path, format: str | None = None) -> str | None:
    """captions, identity, regions, or moments for all tasks about queries; None: stories, or nothing known."""
    if format is not None:
        return name_format_kind(format)
    head = Head(path)
    text = head.text.lstrip()
    if head.lines:
        return name_line_kind(head)
    if identity.is_table(path) and text and text[0] not in "[{":
        return "identity" if "\t" in text.partition("\n")[0] else None
    if text[:1] == "[":
        keys = set(head.root[1])
        if "bbox" in keys or "regions" in keys:
            return "regions"
        if {"image_id", "caption"} <= keys or "refs" in keys:
            return "captions"
        return "identity" if {"captions", "blanks"} & keys else None
    if moments.is_tvr_predictions(head) or moments.is_rvmr_predictions(head) or ANSWERED.match(text):
        return "moments"
    return "regions" if DETECTED.match(text) else None


def name_line_kind(head: Head) -> str | None:
    keys = head.first_object.keys()
    if "cand" in keys:
        return "captions"
    if {"captions", "blanks"} & keys and "boxes" not in keys:
        return "identity"
    if "boxes" in keys:
        return "regions"
    return "moments" if "events" not in keys and moments.SHELF.sniff(head, "predictions") else None


def name_format_kind(format: str) -> str | None:
    name = format.partition(":")[0]
    if name in FORMS:
        return "regions"
    shelves = {"captions": captions, "identity": identity, "moments": moments, "regions": regions}
    from fabula.io.stories import SHELF

    return None if SHELF.find(name) else next((kind for kind, s in shelves.items() if s.SHELF.find(name)), None)


def find_asked(path: Path, role: moments.Role, format: str | None = None) -> str | None:
    """Which task about queries a file is for; None where it does not say."""
    if holds_only_stories(path):
        return None
    head = Head(path)
    found = moments.SHELF.find(format) if format else moments.SHELF.sniff(head, role)
    if found is None:
        return None
    keys = head.first_object.keys()
    if found.name == "moment-lines":
        return "highlights" if keys & {"saliency", "marks"} else "moments" if keys & {"videos", "graded"} else None
    return ASKED.get(found.name)
