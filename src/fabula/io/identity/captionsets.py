"""Captionsets (Raajesh et al., CVPR 2024): captions of clips that belong together, people called by ids; and blanks.

    {"id": "set 1", "captions": ["P1 enters.", "P2 smiles at P1."], "blanks": [["P1"], ["P2", "P1"]]}

a line a set (.jsonl), or a list of such objects (.json). Captions may be one text, blanks one list for the whole set;
one of the two may be left out. Read as captionsets, too: stories, one a video, and lines `clip ⇥ … ⇥ caption` together
with a file that says which clips belong together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabula.core.errors import SpecError
from fabula.core.notes import Notes, named
from fabula.io import _files, fillin, objects, pairs, usable
from fabula.io import read as read_stories
from fabula.io._fields import Source
from fabula.io._format import Reader
from fabula.io._pieces import stories_alone
from fabula.io.coco import identity

SHAPE = '{"id": set, "captions": [text, …], "blanks": [[id, …], …]}'
KNOWN = frozenset({"id", "captions", "blanks"})
LINE = "a line is: clip, tab, caption"
Grouping = Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Told:
    """What one side says of a set: its captions, and the ids in its blanks, clip by clip; None where it does not."""

    captions: tuple[str, ...] | None = None
    blanks: tuple[tuple[str, ...], ...] | None = None


Sets = dict[str, Told]  # in file order


def is_table(path: Path) -> bool:
    """Lines with tabs; anything that is not called JSON, and holds no stories."""
    return not stories_alone(path) and not path.name.endswith((".json", ".json.gz", ".jsonl", ".jsonl.gz"))


def holds_ids(path: Path) -> bool:
    """A table of ids (`[P1],[P2]`, `_`) and not of captions: no field has blanks but next to commas and in brackets."""
    fields = (text.rpartition("\t")[2].strip() for _, text in _files.lines(usable(path)))
    pieces = (piece.strip() for field in fields for piece in field.split(","))
    return not any(len(piece.split()) > 1 and not (piece[0] == "[" and piece[-1] == "]") for piece in pieces)


def is_pairs(path: Path) -> bool:
    """Candidates with their references inline."""
    if not path.name.endswith((".jsonl", ".jsonl.gz")):
        return False
    _, first = next(objects(usable(path)), (0, None))
    return isinstance(first, dict) and "cand" in first


def inline(path: Path, notes: Notes) -> tuple[Sets, Sets]:
    """Both sides of a file of pairs: references, candidates."""
    source = Source(usable(path), notes, noun="captionset")
    items = list(pairs.items(objects(source.path), source))
    for item in items:
        if len(item.references) > 1:
            notes.add("{n} captionsets have several references; the first is used", named(item.id))
    refs = {str(i.id): Told((i.references[0],)) for i in items}
    return refs, {str(i.id): Told((i.candidate or "",)) for i in items}


def read(path: Path, notes: Notes, format: str | None = None, grouping: Path | None = None) -> Sets:
    """One side, from any of the shapes above."""
    source = Source(usable(path), notes, noun="captionset")
    if is_table(source.path):
        if grouping is None:
            raise SpecError("which clips belong together is not said; name the file of sets with --sets (valSets.csv)")
        return grouped(source, fillin.read_sets(grouping, notes))
    meant = format == "captionsets"
    entries = listed(source) if meant or not format else None
    if meant and entries is None:
        raise source.wrong("no captionset", None, None, f"a line is {SHAPE}; leave the format out for anything else")
    if entries is not None:
        found = dict(told(entry, at, source) for at, entry in distinct(entries, source))
        source.report()
        return found
    corpus, remarks = read_stories(source.path, format)
    notes.extend(remarks)
    return {v: Told(tuple(e.caption or "" for e in story.in_order().events)) for v, story in corpus.items()}


def listed(source: Source) -> Iterable[tuple[str, Any]] | None:
    """The file's objects with their places, if it is one of captionsets."""
    if source.path.name.endswith((".jsonl", ".jsonl.gz")):
        _, first = next(objects(source.path), (0, None))
        return ((f"line {n}", entry) for n, entry in objects(source.path)) if ours(first) else None
    document = None if stories_alone(source.path) else _files.load_json(source.path)
    if isinstance(document, list) and document and ours(document[0]):
        return ((f"entry {n}", entry) for n, entry in enumerate(document))
    return None


def ours(entry: Any) -> bool:
    return isinstance(entry, dict) and ("captions" in entry or "blanks" in entry)


def distinct(entries: Iterable[tuple[str, Any]], source: Source) -> Iterable[tuple[str, dict[str, Any]]]:
    seen: set[str] = set()
    for at, entry in entries:
        entry = source.mapping(entry, at, hint=f"a captionset is {SHAPE}")
        id = str(identity(source.entry(entry, "id", at=at), f"{at} id", source))
        if id in seen:
            raise source.wrong("this captionset stands twice", id, at, "keep one of the two")
        seen.add(id)
        yield at, {**entry, "id": id}


def written(sets: Mapping[str, Told], target: Path) -> Iterator[str]:
    """Captionsets as lines of text."""
    for id, one in sets.items():
        line: dict[str, Any] = {"id": id}
        line |= {} if one.captions is None else {"captions": one.captions}
        line |= {} if one.blanks is None else {"blanks": one.blanks}
        yield _files.json_text(line, target)


def told(entry: dict[str, Any], at: str, source: Source) -> tuple[str, Told]:
    id = entry["id"]
    source.unused(entry, KNOWN, "captionsets")
    if entry.get("captions") is None and entry.get("blanks") is None:
        raise source.wrong("neither captions nor blanks", id, at, f"a captionset is {SHAPE}")
    captions, blanks = entry.get("captions"), entry.get("blanks")
    return id, Told(
        None if captions is None else texts(captions, f"{at} captions", id, source),
        None if blanks is None else ids(blanks, f"{at} blanks", id, source),
    )


def texts(value: Any, where: str, id: str, source: Source) -> tuple[str, ...]:
    some = [value] if isinstance(value, str) else source.listing(value, where, id, "captions are a list of texts")
    return tuple(source.caption(text, f"{where}[{k}]", id) for k, text in enumerate(some))


def ids(value: Any, where: str, id: str, source: Source) -> tuple[tuple[str, ...], ...]:
    """Clip by clip, or one list for the whole set."""
    hint = 'blanks are [["P1"], ["P2", "P1"]], clip by clip, or ["P1", "P2", "P1"]'
    some = source.listing(value, where, id, hint)
    clips = some if some and all(isinstance(c, list) for c in some) else [some]
    return tuple(
        tuple(source.text(i, f"{where}[{k}]", id, hint) for i in source.listing(clip, f"{where}[{k}]", id, hint))
        for k, clip in enumerate(clips)
    )


def grouped(source: Source, sets: Grouping) -> Sets:
    """Lines of clips, laid together by sets; a set that has none of its clips here is not told."""
    if holds_ids(source.path):
        labels = {clip: () if given == (fillin.NO_BLANK,) else given for clip, given in fillin.table(source).items()}
        return {c[0]: Told(blanks=tuple(labels.get(k, ()) for k in c)) for c in sets if any(k in labels for k in c)}
    captions = clip_captions(source)
    known = {clip for clips in sets for clip in clips}
    for clip in captions:
        if clip not in known:
            source.notes.add(f"{{n}} clips of {source.path} are in no set and are not scored", named(clip))
    return {c[0]: Told(tuple(captions.get(k, "") for k in c)) for c in sets if any(k in captions for k in c)}


def clip_captions(source: Source) -> dict[str, str]:
    """Clip → caption: the first and the last column."""
    found: dict[str, str] = {}
    for number, text in _files.lines(source.path):
        clip, tab, rest = text.partition("\t")
        at = f"line {number}"
        if not tab:
            source.notes.add(f"{{n}} lines of {source.path} name a clip and no caption", named(clip))
        if clip.strip() in found:
            raise source.wrong("this clip stands twice", clip.strip(), at, "keep one of the two lines")
        found[clip.strip()] = source.caption(rest.rpartition("\t")[2].strip(), at, clip.strip())
    return found


READERS = (
    Reader(
        "captionsets",
        ("identity",),
        "either",
        "*.jsonl, *.json",
        f"captions of clips that belong together, and their blanks, a set a line (or entry): {SHAPE}",
        '{"id": "kite", "captions": ["P1 runs.", "P2 follows P1."], "blanks": [["P1"], ["P2", "P1"]]}',
        written=True,
    ),
)
