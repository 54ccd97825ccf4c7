"""Caption items from files: candidates and references apart (COCO), or inline in one file (pairs)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fabula.core.errors import InputError, shown
from fabula.core.notes import Notes, name_id
from fabula.data.stories import Item
from fabula.documents.document import open_document
from fabula.documents.fields import Source
from fabula.io.format import Format, Holds
from fabula.io.idlist import IdList
from fabula.io.shelf import SHELVES

if TYPE_CHECKING:
    from fabula.documents.safe_open import File

SHELF = SHELVES["captions"]


def read_items(
    predictions: str | File, refs: Sequence[str | File] = (), only: IdList | None = None
) -> tuple[list[Item], Notes]:
    """The items to score, in the references' order (inline: in the file's), and what was noticed."""
    from fabula.io.captions import pairs

    source = Source(open_document(predictions), noun="item")
    if source.document.lines and (both := find_both(source.document.first_entry)) is not None:
        assert both.read_items is not None
        return limit_items(both.read_items(source.document.entries(), source), only, source)
    if source.document.lines:
        if refs and "cand" in source.document.first_entry:
            raise InputError(
                "a .jsonl of pairs has its references inline", file=source.document, hint="leave --refs out"
            )
        if refs:
            return join_items(read_side(source, "predictions"), refs, source, only)
        return limit_items(pairs.read_items(source.document.entries(), source), only, source)
    if refs:
        return join_items(read_side(source, "predictions"), refs, source, only)
    document = source.document.tree()
    if not is_inline(document):
        hint = f"name the references with --refs, or give {pairs.SHAPE} lines in a .jsonl"
        raise InputError("the references are missing", file=source.document, hint=hint)
    entries = ((f"entry {i}", entry) for i, entry in enumerate(document))
    return limit_items(pairs.read_items(entries, source), only, source)


def limit_items(items: Iterable[Item], only: IdList | None, source: Source) -> tuple[list[Item], Notes]:
    found = list(items)
    return found if only is None else [*only.limit({i.id: i for i in found}, source.notes).values()], source.notes


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
    rule = SHELF.find_both(first)
    return None if rule is None or rule.name == "pairs" else SHELF.by_rule(rule)


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
    candidates: dict[str | int, str], refs: Sequence[str | File], source: Source, only: IdList | None = None
) -> tuple[list[Item], Notes]:
    """Several annotation files add up: all their captions of an image are its references."""
    references: dict[str | int, tuple[str, ...]] = {}
    for path in refs:
        found = read_side(Source(open_document(path), source.notes, noun="item"), "references")
        for id, captions in found.items():
            references[id] = references.get(id, ()) + captions
    if only is not None:
        references = only.limit(references, source.notes)
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
