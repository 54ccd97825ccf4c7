"""People in sets of clips: captionsets, and LSMDC's fill-in files.

Read as captionsets, too: stories, one a video, and lines `clip ⇥ … ⇥ caption` together with a file that says which
clips belong together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fabula.core.errors import SpecError
from fabula.core.notes import Notes, name_id
from fabula.documents.document import open_document
from fabula.documents.fields import Source
from fabula.io.shelf import Rule, Shelf

if TYPE_CHECKING:
    from fabula.documents.safe_open import File
    from fabula.io.identity.captionsets import Sets


def is_set(entry: Any) -> bool:
    return isinstance(entry, dict) and ("captions" in entry or "blanks" in entry)


SHELF = Shelf(
    __name__,
    (
        Rule("captionsets", lambda head: is_set(head.first_entry), "*.jsonl, *.json"),
        Rule("fillin", pattern="*.csv"),  # whatever is not called JSON: see is_table
        Rule("fillin-sets", pattern="*.csv", holds="references", module="fillin"),
    ),
    patterns=("*.jsonl", "*.csv"),
)


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


def read_sets(path: str | File, notes: Notes, format: str | None = None, grouping: str | File | None = None) -> Sets:
    """One side, from any of the shapes above."""
    from fabula import io
    from fabula.io.identity import captionsets, fillin

    source = Source(open_document(path), notes, noun="captionset")
    if is_table(source.document):
        if grouping is None:
            raise SpecError("the sets of clips are missing; name their file with --sets (valSets.csv)")
        return group_clips(source, fillin.read_grouping(grouping, notes))
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


def group_clips(source: Source, sets: Sequence[tuple[str, ...]]) -> Sets:
    """Lines of clips, pooled by sets; a set that has none of its clips here is not told."""
    from fabula.io.identity import fillin
    from fabula.io.identity.captionsets import SetText

    if holds_ids(source.document):
        labels = {
            clip: () if given == (fillin.NO_BLANK,) else given for clip, given in fillin.read_labels(source).items()
        }
        return {c[0]: SetText(blanks=tuple(labels.get(k, ()) for k in c)) for c in sets if any(k in labels for k in c)}
    captions = read_clip_captions(source)
    known = {clip for clips in sets for clip in clips}
    for clip in captions:
        if clip not in known:
            source.notes.add(f"{{n}} clips of {source.document} are in no set and are not scored", name_id(clip))
    return {c[0]: SetText(tuple(captions.get(k, "") for k in c)) for c in sets if any(k in captions for k in c)}


def read_clip_captions(source: Source) -> dict[str, str]:
    """Clip → caption: the first and the last column."""
    found: dict[str, str] = {}
    for at, text in source.document.texts():
        clip, tab, rest = text.partition("\t")
        if not tab:
            source.notes.add(f"{{n}} lines of {source.document} name a clip and no caption", name_id(clip))
        if clip.strip() in found:
            raise source.wrong("this clip stands twice", clip.strip(), at, "keep one of the two lines")
        found[clip.strip()] = source.caption(rest.rpartition("\t")[2].strip(), at, clip.strip())
    return found
