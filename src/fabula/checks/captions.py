"""Single captions: COCO results and annotations, pairs. Words are never touched, so there is nothing to mend."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabula.checks._check import CheckRequest, Kind, Mended, Report, examine_items
from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes
from fabula.documents.document import Document, open_document
from fabula.documents.fields import Source
from fabula.io.captions import SHELF, find_both, find_side, is_inline, pairs
from fabula.io.format import Format

if TYPE_CHECKING:
    from fabula.documents.safe_open import File


def knows(head: Document) -> bool:
    """Whether the file holds COCO results or annotations, or pairs."""
    keys = head.first_entry.keys()
    if head.lines:
        return {"refs", "cand"} <= keys or find_both(head.first_entry) is not None
    return "image_id" in keys and ("caption" in keys or {"test", "refs"} <= keys) and "segments" not in keys


def look(request: CheckRequest) -> tuple[Report, str]:
    notes = Notes()
    captions = count_words(request.path, notes)
    known = [id for ref in request.refs for id, _ in count_words(ref, notes)] if request.refs else None
    return examine_items(captions, None if known is None else request.limit(known, notes), notes), "captions"


def count_words(file: File, notes: Notes) -> list[tuple[str | int, str | None]]:
    """Each caption with its id."""
    source = Source(open_document(file), notes, noun="item")
    if source.document.lines:
        found, entries = SHELF.sniff(source.document), source.document.entries()
        if found is not None and found.read_captions is not None:
            return list_captions(found, entries, source)
        read = pairs.read_items if found is None or found.read_items is None else found.read_items
        return [(item.id, item.candidate) for item in read(entries, source)]
    document = source.document.tree()
    results, annotations = (find_side(holds, lines=False) for holds in ("predictions", "references"))
    if not isinstance(document, dict | list):
        shapes = " or ".join(format.about.partition(": ")[2] for format in (results, annotations))
        raise InputError("no file of captions", file=source.document, hint=f"it is {shapes}")
    if is_inline(document):
        entries = ((f"entry {i}", entry) for i, entry in enumerate(document))
        return [(item.id, item.candidate) for item in pairs.read_items(entries, source)]
    return list_captions(annotations if isinstance(document, dict) else results, document, source)


def list_captions(format: Format, document: Any, source: Source) -> list[tuple[str | int, str | None]]:
    assert format.read_captions is not None
    found = format.read_captions(document, source).items()
    return [(id, one) for id, several in found for one in ([several] if isinstance(several, str) else several)]


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
