"""What files are for, by how they begin: the task of predictions where nobody names one.

Stories are what is left: their formats are known by the whole document (io/stories), and cost more to look at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabula.core.errors import SpecError
from fabula.data.regions import FORMS
from fabula.documents.document import Document, open_document
from fabula.io import captions, identity, moments, questions, regions

if TYPE_CHECKING:
    from fabula.documents.safe_open import File

MOMENTS = ("moments", "highlights", "grounding")
DETECTED = re.compile(r'\s*\{\s*"(?:opt|results)"\s*:\s*(?:\[|\{[^{}]*\}\s*,\s*"results"\s*:\s*\[)')


def infer_task(predictions: str | File, refs: Sequence[str | File], format: str | None = None) -> str | None:
    """The task that predictions of this shape are for; None: stories. Where several are, an error names them."""
    head = open_document(predictions)
    if head.holds_only_stories:
        return None
    kind = name_kind(head, format)
    truth = [document for ref in refs if not (document := open_document(ref)).holds_only_stories]
    if kind is None and format is None and head.lines and moments.is_answer_lines(head):
        # answers in a model's own words: of stories, or of what the references ask
        if any(moments.SHELF.sniff(document, "references") is not None for document in truth):
            kind = "moments"
        elif any(map(questions.is_questions, truth)):
            kind = "questions"
    if kind != "moments":
        return kind
    asked = [find_asked(head, "predictions", format), *(find_asked(document, "references") for document in truth)]
    found = next((task for task in asked if task is not None), None)
    if found is None:
        several = ", ".join(f"--task {task}" for task in MOMENTS)
        raise SpecError(f"{head} holds windows of queries, which several tasks score; say which: {several}")
    return found


def name_kind(file: str | File, format: str | None = None) -> str | None:
    """captions, identity, questions, regions, or moments for all about queries; None: stories, or nothing known."""
    if format is not None:
        return name_format_kind(format)
    head = open_document(file)
    if head.ending == ".xlsx":
        return None
    text = head.text.lstrip()
    if head.is_table and questions.is_questions(head):
        return "questions"
    if head.is_table and ("prediction" in head.header or {"video", "answer"} <= set(head.header)):
        return None  # answers of a kit; of grounding they are when somebody says so
    if head.lines:
        return name_line_kind(head)
    if identity.is_table(head) and text and text[0] not in "[{":
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


def name_line_kind(head: Document) -> str | None:
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


def name_shared_kind(head: Document) -> str | None:
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


def find_asked(head: Document, role: moments.Role, format: str | None = None) -> str | None:
    """Which task about queries a file is for; None where it does not say."""
    found = moments.SHELF.find(format.partition(":")[0]) if format else moments.SHELF.sniff(head, role)
    if found is None:
        return None
    keys = head.first_object.keys()
    if found.name == "moment-lines":
        return "highlights" if keys & {"saliency", "marks"} else "moments" if keys & {"videos", "graded"} else None
    if found.name == "answer-lines":  # one window a query, unless the references ask for something else
        return None if role == "references" else "grounding"
    return found.main_task or None
