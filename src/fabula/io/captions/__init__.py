"""Caption items from files: candidates and references apart (COCO), or inline in one file (pairs)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fabula.core.errors import InputError, shown
from fabula.core.notes import Notes, name_id
from fabula.data.stories import Item
from fabula.documents.document import open_document
from fabula.documents.fields import Source
from fabula.io.format import Format, Holds
from fabula.io.shelf import Rule, Shelf

if TYPE_CHECKING:
    from fabula.documents.safe_open import File

SHELF = Shelf(
    __name__,
    (
        Rule("pairs", lambda head: "cand" in head.first_entry, "*.jsonl"),
        Rule("spice", lambda head: is_inline(head.document), module="pairs"),
    ),
)


def read_items(predictions: str | File, refs: Sequence[str | File] = ()) -> tuple[list[Item], Notes]:
    """The items to score, in the references' order (inline: in the file's), and what was noticed."""
    from fabula.io.captions import pairs

    source = Source(open_document(predictions), noun="item")
    if source.document.lines and (both := find_both(source.document.first_entry)) is not None:
        assert both.read_items is not None
        return list(both.read_items(source.document.entries(), source)), source.notes
    if source.document.lines:
        if refs and "cand" in source.document.first_entry:
            raise InputError(
                "a .jsonl of pairs has its references inline", file=source.document, hint="leave --refs out"
            )
        if refs:
            return join_items(read_side(source, "predictions"), refs, source)
        return list(pairs.read_items(source.document.entries(), source)), source.notes
    if refs:
        return join_items(read_side(source, "predictions"), refs, source)
    document = source.document.tree()
    if not is_inline(document):
        hint = f"name the references with --refs, or give {pairs.SHAPE} lines in a .jsonl"
        raise InputError("the references are missing", file=source.document, hint=hint)
    return list(pairs.read_items(((f"entry {i}", entry) for i, entry in enumerate(document)), source)), source.notes


def is_items(file: str | File) -> bool:
    """A first look at a file: a JSON list, or lines with a candidate, are items; anything else may be stories."""
    document = open_document(file)
    if document.holds_only_stories:
        return False
    if document.lines:
        return "cand" in document.first_entry or find_both(document.first_entry) is not None
    return document.text.lstrip()[:1] == "["


def find_both(first: Mapping[str, Any]) -> Format | None:
    """The benchmark's format of lines that hold both sides, by the first line; pairs are our own."""
    rules = (r for r in SHELF.rules if r.holds == "either" and any(shape.fits(first) for shape in r.shapes))
    return next(map(SHELF.by_rule, rules), None)


def find_side(holds: Holds, lines: bool) -> Format:
    """The format of candidates, or of references: a line an item, or a document of them."""
    pattern = "*.jsonl" if lines else "*.json"
    return SHELF.by_rule(next(r for r in SHELF.rules if (r.holds, r.pattern) == (holds, pattern)))


def read_side(source: Source, holds: Holds) -> dict[Any, Any]:
    lines = source.document.lines
    read = find_side(holds, lines).read_captions
    assert read is not None
    return dict(read(source.document.entries() if lines else source.document.tree(), source))


def is_inline(document: Any) -> bool:
    return isinstance(document, list) and bool(document) and isinstance(document[0], dict) and "refs" in document[0]


def join_items(
    candidates: dict[str | int, str], refs: Sequence[str | File], source: Source
) -> tuple[list[Item], Notes]:
    """Several annotation files add up: all their captions of an image are its references."""
    references: dict[str | int, tuple[str, ...]] = {}
    for path in refs:
        found = read_side(Source(open_document(path), source.notes, noun="item"), "references")
        for id, captions in found.items():
            references[id] = references.get(id, ()) + captions
    unknown = [id for id in candidates if id not in references]
    if candidates and len(unknown) == len(candidates):
        both = f"results have {shown(unknown[0])}, annotations {shown(next(iter(references), None))}"
        raise source.wrong("no image of the results is in the annotations", None, None, f"compare the ids: {both}")
    for id in unknown:
        source.notes.add("{n} captioned images are not in the annotations and are not scored", name_id(id))
    for id in references:
        if id not in candidates:
            source.notes.add("{n} annotated images have no candidate (see missing=… in each signature)", name_id(id))
    return [Item(id, candidates.get(id), captions) for id, captions in references.items()], source.notes
