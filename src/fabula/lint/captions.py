"""Single captions: COCO results and annotations, pairs. Words are never touched, so there is nothing to mend."""

from __future__ import annotations

from pathlib import Path

from fabula import io
from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes
from fabula.io import _files, coco, pairs
from fabula.io._fields import Source
from fabula.lint._examine import Report, examine_items
from fabula.lint._kind import LINES, Asked, Kind, Mended, first_entry


def knows(path: Path) -> bool:
    """Whether the file holds COCO results or annotations, or pairs."""
    keys = first_entry(path).keys()
    if path.name.endswith(LINES):
        return {"refs", "cand"} <= keys
    return "image_id" in keys and ("caption" in keys or {"test", "refs"} <= keys) and "segments" not in keys


def look(asked: Asked) -> tuple[Report, str]:
    notes = Notes()
    captions = said(asked.path, notes)
    known = [id for ref in asked.refs for id, _ in said(ref, notes)] if asked.refs else None
    return examine_items(captions, known, notes), "captions"


def said(path: Path, notes: Notes) -> list[tuple[str | int, str | None]]:
    """Each caption with its id."""
    source = Source(io.usable(path), notes, noun="item")
    if path.name.endswith(LINES):
        return [(item.id, item.candidate) for item in pairs.items(io.objects(path), source)]
    document = _files.load_json(path)
    if isinstance(document, dict):
        return [(id, caption) for id, several in coco.references(document, source).items() for caption in several]
    if not isinstance(document, list):
        raise InputError("no file of captions", file=path, hint=f"it is {coco.RESULTS} or {coco.ANNOTATIONS}")
    if document and isinstance(document[0], dict) and "refs" in document[0]:
        return [(item.id, item.candidate) for item in pairs.items(iter(enumerate(document)), source, "entry")]
    return list(coco.results(document, source).items())


def mend(asked: Asked, target: Path) -> Mended:
    raise SpecError("--fix mends segments; single captions have none, and words are never touched")


KIND = Kind(
    name="captions",
    tasks=("captions",),
    knows=knows,
    named=lambda format: format in ("captions", *(r.name for r in (*coco.READERS, *pairs.READERS))),
    look=look,
    mend=mend,
    last=5,
)
