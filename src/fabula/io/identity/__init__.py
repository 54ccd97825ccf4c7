"""People in sets of clips: captionsets, and LSMDC's fill-in files.

Read as captionsets, too: stories, one a video, and lines `clip ⇥ … ⇥ caption` together with a file that says which
clips belong together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fabula.core.errors import SpecError
from fabula.core.notes import Notes, name_id
from fabula.documents.document import open_document
from fabula.documents.fields import Source
from fabula.io.shelf import SHELVES

if TYPE_CHECKING:
    from fabula.documents.safe_open import File
    from fabula.io.identity.captionsets import Sets

Grouped = Literal["disjoint", "overlapping"]


def is_set(entry: Any) -> bool:
    return isinstance(entry, dict) and ("captions" in entry or "blanks" in entry)


SHELF = SHELVES["identity"]


def is_table(file: str | File) -> bool:
    """Lines with tabs; anything that is not called JSON, and holds no stories."""
    document = open_document(file)
    return not document.holds_only_stories and document.ending not in (".json", ".jsonl")


def holds_ids(file: str | File) -> bool:
    """A table of ids (`[P1],[P2]`, `_`) and not of captions: no field has blanks but next to commas and in brackets."""
    fields = (text.rpartition("\t")[2].strip() for _, text in open_document(file).texts())
    pieces = (piece.strip() for field in fields for piece in field.split(","))
    return not any(len(piece.split()) > 1 and not (piece[0] == "[" and piece[-1] == "]") for piece in pieces)


def is_pairs(file: str | File) -> bool:
    """Candidates with their references inline."""
    document = open_document(file)
    return document.lines and "cand" in document.first_entry


def read_inline(path: str | File, notes: Notes) -> tuple[Sets, Sets]:
    """Both sides of a file of pairs: references, candidates."""
    from fabula.io.captions import pairs
    from fabula.io.identity.captionsets import SetText

    source = Source(open_document(path), notes, noun="captionset")
    items = list(pairs.read_items(source.document.entries(), source))
    for item in items:
        if len(item.references) > 1:
            notes.add("{n} captionsets have several references; the first is used", name_id(item.id))
    refs = {str(i.id): SetText((i.references[0],)) for i in items}
    return refs, {str(i.id): SetText((i.candidate or "",)) for i in items}


def read_sets(
    path: str | File,
    notes: Notes,
    format: str | None = None,
    grouping: str | File | None = None,
    grouped: Grouped | None = None,
    ids: Path | None = None,
) -> Sets:
    """One side, from any of the shapes above.

    Lines of clips need `grouping`, the file of sets; with `grouped` five consecutive clips of a film are a set where
    there is none. `ids` fill the blanks of captions of clips.
    """
    from fabula import io
    from fabula.io.identity import captionsets, fillin

    source = Source(open_document(path), notes, noun="captionset")
    if is_table(source.document):
        if grouping is None and grouped is None:
            raise SpecError("the sets of clips are missing; name their file with --sets (valSets.csv)")
        sets = None if grouping is None else fillin.read_grouping(grouping, notes, overlapping=grouped == "overlapping")
        return group_clips(source, sets, grouped, ids)
    if format == "captionsets":
        return captionsets.read_sets(source)
    entries = None if format else captionsets.list_entries(source.document)
    if entries is not None:
        return captionsets.read_entries(entries, source)
    corpus, remarks = io.read(source.document, format)
    notes.extend(remarks)
    return {
        v: captionsets.SetText(tuple(e.caption or "" for e in story.in_order().events)) for v, story in corpus.items()
    }


def group_clips(
    source: Source, sets: Sequence[tuple[str, ...]] | None, grouped: Grouped | None = None, ids: Path | None = None
) -> Sets:
    """Lines of clips, pooled by sets; a set that has none of its clips here is left out."""
    from fabula.io.identity import clip_captions, fillin
    from fabula.io.identity.captionsets import SetText

    of_clips = replace(source, noun="clip")
    labels, captions = fillin.Labels(), dict[str, str]()
    if holds_ids(source.document):
        labels = fillin.read_labels(of_clips)
    else:
        captions = clip_captions.read_clip_captions(of_clips, ids)
    clips = labels.keys() | captions.keys()
    if sets is None:
        sets = clip_captions.group_films(labels or captions, grouped == "overlapping")
        how = ", beginning at every clip" if grouped == "overlapping" else ""
        what = f"{source.document}: no sets are named; five consecutive clips of a film are one{how}"
        source.notes.add(what, f"{len(sets):,} sets")
    known = {clip for names in sets for clip in names}
    for clip in captions:
        if clip not in known:
            fate = "left out" if grouped else "not scored"
            source.notes.add(f"{{n}} clips of {source.document} are in no set and are {fate}", name_id(clip))
    found: Sets = {}
    for names in sets:
        if clips.isdisjoint(names):
            continue
        if grouped and (missing := next((clip for clip in names if clip not in clips), None)):
            raise of_clips.wrong("no line of this clip, though its set has others", missing, None, "add its line")
        blanks = tuple(() if labels.get(k) == (fillin.NO_BLANK,) else labels.get(k, ()) for k in names)
        texts = tuple(captions.get(k, "") for k in names)
        found[names[0]] = SetText(None if labels else texts, blanks if labels else None, names)
    return found
