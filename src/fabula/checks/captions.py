"""Single captions: COCO results and annotations, pairs. Words are never touched, so there is nothing to mend."""

from __future__ import annotations

from pathlib import Path

from fabula.checks._check import CheckRequest, Kind, Mended, Report, examine_items
from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes
from fabula.documents.fields import Source
from fabula.documents.files import check_path, has_lines, load_json, read_objects
from fabula.documents.head import Head
from fabula.io.captions import SHELF, coco, find_both, is_inline, pairs


def knows(head: Head) -> bool:
    """Whether the file holds COCO results or annotations, or pairs."""
    keys = head.first_entry.keys()
    if head.lines:
        return {"refs", "cand"} <= keys or find_both(head.first_entry) is not None
    return "image_id" in keys and ("caption" in keys or {"test", "refs"} <= keys) and "segments" not in keys


def look(request: CheckRequest) -> tuple[Report, str]:
    notes = Notes()
    captions = count_words(request.path, notes)
    known = [id for ref in request.refs for id, _ in count_words(ref, notes)] if request.refs else None
    return examine_items(captions, known, notes), "captions"


def count_words(path: Path, notes: Notes) -> list[tuple[str | int, str | None]]:
    """Each caption with its id."""
    source = Source(check_path(path), notes, noun="item")
    if has_lines(path):
        found = SHELF.sniff(Head(path))
        if found is not None and found.read_captions is not None:
            read = found.read_captions(read_objects(path), source)
            return [
                (id, one)
                for id, captions in read.items()
                for one in ([captions] if isinstance(captions, str) else captions)
            ]
        if found is not None and found.read_items is not None:
            return [(item.id, item.candidate) for item in found.read_items(read_objects(path), source, "line")]
        return [(item.id, item.candidate) for item in pairs.read_items(read_objects(path), source)]
    document = load_json(path)
    if isinstance(document, dict):
        return [(id, caption) for id, several in coco.read_annotations(document, source).items() for caption in several]
    if not isinstance(document, list):
        raise InputError("no file of captions", file=path, hint=f"it is {coco.RESULTS} or {coco.ANNOTATIONS}")
    if is_inline(document):
        return [(item.id, item.candidate) for item in pairs.read_items(iter(enumerate(document)), source, "entry")]
    return list(coco.read_results(document, source).items())


def mend(request: CheckRequest, target: Path) -> Mended:
    raise SpecError("--fix mends segments; single captions have none, and words are never touched")


KIND = Kind(
    name="captions",
    tasks=("captions",),
    knows=knows,
    named=lambda format: format in ("captions", *(rule.name for rule in SHELF.rules)),
    look=look,
    mend=mend,
    last=5,
)
