"""LSMDC fill-in files (Park et al., ECCV 2020): a line a clip, `clip ⇥ id,id,…`, `_` where it has no blank.

A third file says which clips belong together: a line a set, its clips between tabs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fabula.core.notes import Notes, name_id
from fabula.data.identity import Clip, ClipSet
from fabula.documents.document import Document, open_document
from fabula.documents.fields import Source
from fabula.io.format import Format

NO_BLANK = "_"
LINE = "a line is: clip, tab, ids with commas between them (_ for no blank)"

Labels = dict[str, tuple[str, ...]]  # in file order


def read_references(path: str | Path | Document, notes: Notes) -> Labels:
    """Clip → the ids that belong into its blanks; () for `_`."""
    source = Source(open_document(path), notes, noun="clip")
    found = read_labels(source)
    for clip, ids in found.items():
        if not ids:
            raise source.wrong("no tab, so no ids", clip, None, LINE)
    return {clip: () if ids == (NO_BLANK,) else ids for clip, ids in found.items()}


def read_predictions(path: str | Path | Document, notes: Notes) -> Labels:
    """Clip → the ids that a system gave; `_` is kept, for what it means is the metric's to say."""
    source = Source(open_document(path), notes, noun="clip")
    found = read_labels(source)
    if found and not any(found.values()):
        raise source.wrong("no tab in any line, so no ids", next(iter(found)), None, LINE)
    for clip, ids in found.items():
        if not ids:
            notes.add(f"{{n}} lines of {source.document} name a clip and no id", name_id(clip))
    return found


def read_labels(source: Source) -> Labels:
    """Clip → the text between its commas, as it is spelled; () where the line has one column."""
    notes, found = source.notes, Labels()
    for at, text in source.document.texts():
        clip, _, rest = text.partition("\t")
        clip = clip.strip()
        if clip in found:
            raise source.wrong("this clip stands twice", clip, at, "keep one of the two lines")
        field, tab, _ = rest.partition("\t")
        if tab:
            notes.add(
                f"{{n}} lines of {source.document} have more than two columns; the others are not used", name_id(clip)
            )
        found[clip] = tuple(field.strip().split(",")) if rest else ()
    return found


def read_grouping(path: str | Path | Document, notes: Notes, overlapping: bool = False) -> list[tuple[str, ...]]:
    """The clips of every set; overlapping ones differ in their first clips."""
    return list_sets(Source(open_document(path), notes, noun="clip"), overlapping)


def list_sets(source: Source, overlapping: bool = False) -> list[tuple[str, ...]]:
    sets, seen = list[tuple[str, ...]](), set[str]()
    for at, text in source.document.texts():
        clips = tuple(name for part in text.split("\t") if (name := part.strip()))
        for clip in clips[:1] if overlapping else clips:
            if clip in seen:
                hint = "sets begin with different clips" if overlapping else "a clip belongs to one set"
                raise source.wrong("this clip stands twice", clip, at, hint)
            seen.add(clip)
        sets.append(clips)
    return sets


def join_labels(
    truth: Labels,
    given: Labels,
    sets: Sequence[tuple[str, ...]],
    files: tuple[Path | Document, Path | Document, Path | Document],
    notes: Notes,
) -> list[ClipSet]:
    """References, predictions and sets (read from `files`) met by the names of their clips."""
    refs, preds, grouping = (Source(open_document(file), notes, noun="clip") for file in files)
    for clip in (c for clips in sets for c in clips):
        if clip not in truth:
            hint = f"is {refs.document} of this split?"
            raise grouping.wrong("the references do not have this clip", clip, None, hint)
    grouped = {c for clips in sets for c in clips}
    for clip in truth:
        if clip not in grouped:
            notes.add("{n} reference clips are in no set and are not scored", name_id(clip))
    if given and not any(clip in truth for clip in given):
        both = f"predictions have {next(iter(given))!r}, references {next(iter(truth), None)!r}"
        raise preds.wrong("no predicted clip is among the references", None, None, f"compare the ids: {both}")
    for clip in given:
        if clip not in truth:
            notes.add("{n} predicted clips are not in the references and are not scored", name_id(clip))
    if misplaced := find_misplaced(truth, given):
        notes.add(
            "{n} predicted clips stand in another order than in the references; they were met by name, where the "
            "published evaluator stops",
            name_id(misplaced[0]),
            len(misplaced),
        )
    return [ClipSet(tuple(Clip(c, truth[c], given.get(c)) for c in clips)) for clips in sets]


def find_misplaced(truth: Iterable[str], given: Iterable[str]) -> list[str]:
    """The clips of both whose place among the common ones differs."""
    left, right = dict.fromkeys(truth), dict.fromkeys(given)
    return [b for a, b in zip((c for c in left if c in right), (c for c in right if c in left), strict=True) if a != b]


def write_grouping(sets: Iterable[tuple[str, ...]], target: Source) -> Iterator[str]:
    """A line a set, its clips between tabs."""
    return ("\t".join(clips) + "\n" for clips in sets)


def write_labels(labels: Labels, target: Source) -> Iterator[str]:
    """`clip ⇥ [id],[id]`, as the evaluator's own files have it."""
    return (f"{clip}\t{','.join(f'[{i}]' for i in ids) or NO_BLANK}\n" for clip, ids in labels.items())


FORMATS = (
    Format(
        name="fillin",
        about="LSMDC fill-in files, a line a clip: clip, tab, the ids of its blanks with commas between them; _ for no "
        "blank",
        holds="either",
        tasks=("identity",),
        pattern="*.csv",
        read_labels=read_labels,
        write=write_labels,
        example="1005_Signs_00.01.21\t[PERSON1],[PERSON2]",
    ),
    Format(
        name="fillin-sets",
        about="which clips belong together (--sets): a line a set, its clips between tabs",
        holds="references",
        tasks=("identity",),
        pattern="*.csv",
        read_grouping=list_sets,
        write=write_grouping,
        example="1005_Signs_00.01.21\t1005_Signs_00.01.30",
    ),
)
