"""Captionsets (Raajesh et al., CVPR 2024): captions of clips that belong together, people called by ids; and blanks.

    {"id": "set 1", "captions": ["P1 enters.", "P2 smiles at P1."], "blanks": [["P1"], ["P2", "P1"]]}

a line a set (.jsonl), or a list of such objects (.json). Captions may be one text, blanks one list for the whole set;
one of the two may be left out. `"clips": [name, …]` names the clips, where their features are looked up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fabula.documents.document import Document
from fabula.documents.fields import Source
from fabula.documents.files import encode_json
from fabula.io.format import Format, HeadRule
from fabula.io.identity import is_set

SHAPE = '{"id": set, "captions": [text, …], "blanks": [[id, …], …]}'
KNOWN = frozenset({"id", "captions", "blanks", "clips"})


@dataclass(frozen=True, slots=True)
class SetText:
    """What one side says of a set: its captions, and the ids in its blanks, clip by clip; None where it does not."""

    captions: tuple[str, ...] | None = None
    blanks: tuple[tuple[str, ...], ...] | None = None
    clips: tuple[str, ...] | None = None  # their names, for whoever looks at their features


Sets = dict[str, SetText]  # in file order


def read_sets(source: Source) -> Sets:
    """The sets of a file that is meant to hold them."""
    entries = list_entries(source.document)
    if entries is None:
        raise source.wrong("no captionset", None, None, f"a line is {SHAPE}; leave the format out for anything else")
    return read_entries(entries, source)


def read_entries(entries: Iterable[tuple[str, Any]], source: Source) -> Sets:
    found = dict(read_set(entry, at, source) for at, entry in check_distinct(entries, source))
    source.report()
    return found


def list_entries(head: Document) -> Iterable[tuple[str, Any]] | None:
    """The file's objects with their places, if it is one of captionsets."""
    if head.lines:
        return head.entries() if is_set(head.sample) else None
    document = None if head.holds_only_stories else head.document
    if isinstance(document, list) and document and is_set(document[0]):
        return ((f"entry {n}", entry) for n, entry in enumerate(document))
    return None


def check_distinct(entries: Iterable[tuple[str, Any]], source: Source) -> Iterable[tuple[str, dict[str, Any]]]:
    known_ids: set[str] = set()
    for at, entry in entries:
        entry = source.mapping(entry, at, hint=f"a captionset is {SHAPE}")
        id = str(source.identity(source.entry(entry, "id", at=at), f"{at} id"))
        if id in known_ids:
            raise source.wrong("this captionset stands twice", id, at, "keep one of the two")
        known_ids.add(id)
        yield at, {**entry, "id": id}


def write_sets(sets: Mapping[str, SetText], target: Source) -> Iterator[str]:
    """Captionsets as lines of text."""
    for id, one in sets.items():
        line: dict[str, Any] = {"id": id}
        line |= {} if one.captions is None else {"captions": one.captions}
        line |= {} if one.blanks is None else {"blanks": one.blanks}
        line |= {} if one.clips is None else {"clips": one.clips}
        yield encode_json(line, target.document)


def read_set(entry: dict[str, Any], at: str, source: Source) -> tuple[str, SetText]:
    id = entry["id"]
    source.unused(entry, KNOWN, "captionsets")
    if all(entry.get(key) is None for key in ("captions", "blanks", "clips")):
        raise source.wrong("neither captions nor blanks", id, at, f"a captionset is {SHAPE}")
    captions, blanks, clips = entry.get("captions"), entry.get("blanks"), entry.get("clips")
    return id, SetText(
        None if captions is None else read_texts(captions, f"{at} captions", id, source),
        None if blanks is None else read_ids(blanks, f"{at} blanks", id, source),
        None if clips is None else read_names(clips, f"{at} clips", id, source),
    )


def read_texts(value: Any, where: str, id: str, source: Source) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else source.listing(value, where, id, "captions are a list of texts")
    return tuple(source.caption(text, f"{where}[{k}]", id) for k, text in enumerate(texts))


def read_names(value: Any, where: str, id: str, source: Source) -> tuple[str, ...]:
    """The clips of a set by name."""
    hint = 'clips are names, as ["film-0012", "film-0013"]'
    names = source.listing(value, where, id, hint)
    return tuple(source.text(name, f"{where}[{k}]", id, hint) for k, name in enumerate(names))


def read_ids(value: Any, where: str, id: str, source: Source) -> tuple[tuple[str, ...], ...]:
    """Clip by clip, or one list for the whole set."""
    hint = 'blanks are [["P1"], ["P2", "P1"]], clip by clip, or ["P1", "P2", "P1"]'
    ids = source.listing(value, where, id, hint)
    clips = ids if ids and all(isinstance(c, list) for c in ids) else [ids]
    return tuple(
        tuple(source.text(i, f"{where}[{k}]", id, hint) for i in source.listing(clip, f"{where}[{k}]", id, hint))
        for k, clip in enumerate(clips)
    )


FORMAT = Format(
    name="captionsets",
    about=f"captions of clips that belong together, and their blanks, a set a line (or entry): {SHAPE}",
    known_by=(HeadRule(any=("captions", "blanks")),),
    holds="either",
    tasks=("identity",),
    pattern="*.jsonl, *.json",
    read_sets=read_sets,
    write=write_sets,
    example='{"id": "kite", "captions": ["P1 runs.", "P2 follows P1."], "blanks": [["P1"], ["P2", "P1"]]}',
)
