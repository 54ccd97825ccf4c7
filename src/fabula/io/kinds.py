"""What files are for, by how they begin: the task of predictions where nobody names one.

Stories are what is left: their formats are known by the whole document (io/stories), and cost more to look at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from fabula.core.errors import SpecError
from fabula.data.regions import FORMS
from fabula.documents.files import check_path, holds_only_stories, is_table
from fabula.documents.head import Head
from fabula.io import captions, identity, moments, questions, regions

MOMENTS = ("moments", "highlights", "grounding")
DETECTED = re.compile(r'\s*\{\s*"(?:opt|results)"\s*:\s*(?:\[|\{[^{}]*\}\s*,\s*"results"\s*:\s*\[)')


def infer_task(predictions: str | Path, refs: Sequence[str | Path], format: str | None = None) -> str | None:
    """The task that predictions of this shape are for; None: stories. Where several are, an error names them."""
    path = check_path(predictions)
    if holds_only_stories(path):
        return None
    kind = name_kind(path, format)
    if kind is None and format is None and answers_queries(path, refs):
        kind = "moments"
    if kind is None and format is None and answers_questions(path, refs):
        kind = "questions"
    if kind != "moments":
        return kind
    asked = [find_asked(path, "predictions", format), *(find_asked(check_path(ref), "references") for ref in refs)]
    found = next((task for task in asked if task is not None), None)
    if found is None:
        several = ", ".join(f"--task {task}" for task in MOMENTS)
        raise SpecError(f"{path} holds windows of queries, which several tasks score; say which: {several}")
    return found


def answers_queries(path: Path, refs: Sequence[str | Path]) -> bool:
    """Answers in a model's own words tell of stories, or of the queries that the references ask."""
    head = Head(path)
    if not (head.lines and moments.is_answer_lines(head)):
        return False
    files = [check_path(ref) for ref in refs]
    heads = [Head(file) for file in files if not holds_only_stories(file)]
    return any(moments.SHELF.sniff(head, "references") is not None for head in heads)


def answers_questions(path: Path, refs: Sequence[str | Path]) -> bool:
    """The same, where the references hold options, events, or questions of their own."""
    head = Head(path)
    if not (head.lines and moments.is_answer_lines(head)):
        return False
    return any(questions.is_questions(Head(file)) for ref in refs if not holds_only_stories(file := check_path(ref)))


def name_kind(path: Path, format: str | None = None) -> str | None:
    """captions, identity, questions, regions, or moments for all about queries; None: stories, or nothing known."""
    if format is not None:
        return name_format_kind(format)
    if path.suffix.lower() == ".xlsx":
        return None
    head = Head(path)
    text = head.text.lstrip()
    if is_table(path) and questions.is_questions(head):
        return "questions"
    if is_table(path) and ("prediction" in head.columns or {"video", "answer"} <= set(head.columns)):
        return None  # answers of a kit; of grounding they are when somebody says so
    if head.lines:
        return name_line_kind(head)
    if identity.is_table(path) and text and text[0] not in "[{":
        return "identity" if "\t" in text.partition("\n")[0] else None
    if text[:1] == "[":
        keys = set(head.root[1])
        if (shared := name_shared_kind(head)) is not None:
            return shared or None
        if moments.SHELF.is_certain(head):
            return "moments"
        if "bbox" in keys or "regions" in keys:
            return "regions"
        if {"image_id", "caption"} <= keys or "refs" in keys:
            return "captions"
        if {"captions", "blanks"} & keys:
            return "identity"
        return "questions" if questions.is_questions(head) else None
    if moments.SHELF.is_certain(head):
        return "moments"
    return "regions" if DETECTED.match(text) else None


def name_line_kind(head: Head) -> str | None:
    keys = head.first_object.keys()
    if "cand" in keys or captions.find_both(head.first_object) is not None:
        return "captions"
    if (shared := name_shared_kind(head)) is not None:
        return shared or None
    if questions.is_questions(head):
        return "questions"
    if {"captions", "blanks"} & keys and "boxes" not in keys:
        return "identity"
    if "boxes" in keys:
        return "regions"
    if "events" in keys or (moments.is_answer_lines(head) and not moments.SHELF.is_certain(head)):
        return None
    return "moments" if moments.SHELF.sniff(head, "predictions") else None


def name_shared_kind(head: Head) -> str | None:
    """The kind of records whose shape several kinds share, by the first of them; "": stories, None: no such records."""
    from fabula.io.stories import SHELF

    shelves = {"": SHELF, "questions": questions.SHELF, "moments": moments.SHELF}
    return next((kind for kind, shelf in shelves.items() if shelf.find_shared(head)), None)


def name_format_kind(format: str) -> str | None:
    name = format.partition(":")[0]
    if name in FORMS:
        return "regions"
    shelves = {
        "captions": captions,
        "identity": identity,
        "moments": moments,
        "questions": questions,
        "regions": regions,
    }
    from fabula.io.stories import SHELF

    return None if SHELF.find(name) else next((kind for kind, s in shelves.items() if s.SHELF.find(name)), None)


def find_asked(path: Path, role: moments.Role, format: str | None = None) -> str | None:
    """Which task about queries a file is for; None where it does not say."""
    if holds_only_stories(path):
        return None
    head = Head(path)
    found = moments.SHELF.find(format.partition(":")[0]) if format else moments.SHELF.sniff(head, role)
    if found is None:
        return None
    keys = head.first_object.keys()
    if found.name == "moment-lines":
        return "highlights" if keys & {"saliency", "marks"} else "moments" if keys & {"videos", "graded"} else None
    if found.name == "answer-lines":  # one window a query, unless the references ask for something else
        return None if role == "references" else "grounding"
    return found.main_task or None
