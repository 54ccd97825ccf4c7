"""Caption items from files: candidates and references apart (COCO), or inline in one file (pairs)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError, shown
from fabula.core.notes import Notes, named
from fabula.core.nouns import Item
from fabula.io import _files, coco, objects, pairs, usable
from fabula.io._fields import Source
from fabula.io._pieces import stories_alone


def read(predictions: str | Path, refs: Sequence[str | Path] = ()) -> tuple[list[Item], Notes]:
    """The items to score, in the references' order (inline: in the file's), and what was noticed."""
    source = Source(usable(predictions), noun="item")
    if source.path.name.endswith((".jsonl", ".jsonl.gz")):
        if refs:
            raise InputError("a .jsonl of pairs has its references inline", file=source.path, hint="leave --refs out")
        return list(pairs.items(objects(source.path), source)), source.notes
    document = _files.load_json(source.path)
    if not refs:
        if not inline(document):
            hint = f"name the references with --refs, or give {pairs.SHAPE} lines in a .jsonl"
            raise InputError("the references are missing", file=source.path, hint=hint)
        return list(pairs.items(iter(enumerate(document)), source, "entry")), source.notes
    return joined(coco.results(document, source), [annotated(Path(r), source.notes) for r in refs], source)


def is_items(path: str | Path) -> bool:
    """A first look at a file: a JSON list, or lines with a candidate, are items; anything else may be stories."""
    path = usable(path)
    if stories_alone(path):
        return False
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        _, first = next(objects(path), (0, None))
        return isinstance(first, dict) and "cand" in first
    return _files.read_bytes(path)[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"["


def inline(document: Any) -> bool:
    return isinstance(document, list) and bool(document) and isinstance(document[0], dict) and "refs" in document[0]


def annotated(path: Path, notes: Notes) -> dict[str | int, tuple[str, ...]]:
    source = Source(usable(path), notes, noun="item")
    return coco.references(_files.load_json(source.path), source)


def joined(
    candidates: dict[str | int, str], sets: Sequence[dict[str | int, tuple[str, ...]]], source: Source
) -> tuple[list[Item], Notes]:
    """Several annotation files add up: all their captions of an image are its references."""
    references: dict[str | int, tuple[str, ...]] = {}
    for found in sets:
        for id, captions in found.items():
            references[id] = references.get(id, ()) + captions
    unknown = [id for id in candidates if id not in references]
    if candidates and len(unknown) == len(candidates):
        both = f"results have {shown(unknown[0])}, annotations {shown(next(iter(references), None))}"
        raise source.wrong("no image of the results is in the annotations", None, None, f"compare the ids: {both}")
    for id in unknown:
        source.notes.add("{n} captioned images are not in the annotations and are not scored", named(id))
    for id in references:
        if id not in candidates:
            source.notes.add("{n} annotated images have no candidate (see missing=… in each signature)", named(id))
    return [Item(id, candidates.get(id), captions) for id, captions in references.items()], source.notes
