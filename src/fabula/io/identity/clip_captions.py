"""Captions of single clips, as LSMDC has them: a line a clip, its name first and its caption last, tabs between.

    1005_Signs_00.01.21.000-00.01.24.500 ⇥ … ⇥ [...] looks at [...].

Which clips belong together is said by a file of sets (io/identity/fillin.py). Without one, five consecutive clips of a
film are a set: these are the published sets of validation. To be trained on, the grouping is repeated with the first
1, 2, 3 and 4 clips of every film left out. The name of a clip without the part after its last `_` (else `-`) is its
film.

Where a caption has blanks (`NAME_blank.csv`), who belongs into them is in a file of its own (`NAME_onlyIDs_NEW.csv`):
clip first, ids last, with commas between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fabula.core.errors import InputError
from fabula.core.notes import name_id
from fabula.documents.document import FileDocument, open_document
from fabula.documents.fields import Source
from fabula.documents.files import words_of_name
from fabula.io.format import Format
from fabula.io.identity import group_clips
from fabula.io.identity.captionsets import Sets
from fabula.io.identity.fillin import NO_BLANK

CLIPS = 5  # of a set
BLANK = "[...]"
TABLES = (".csv", ".tsv")
SPLITS = {"train": ("train", "training"), "val": ("val", "validation"), "test": ("test", "testing")}
PERSON = re.compile(r"(?:\w+_)?PERSON_?\d+")


def read_clip_captions(source: Source, ids: Path | None = None) -> dict[str, str]:
    """Clip → caption: the first and the last column. Blanks are filled from the file of ids, named or beside it."""
    found: dict[str, str] = {}
    for at, text in source.document.texts():
        clip, tab, rest = text.partition("\t")
        if not tab:
            source.notes.add(f"{{n}} lines of {source.document} name a clip and no caption", name_id(clip))
        if clip.strip() in found:
            raise source.wrong("this clip stands twice", clip.strip(), at, "keep one of the two lines")
        found[clip.strip()] = source.caption(rest.rpartition("\t")[2].strip(), at, clip.strip())
    if not any(BLANK in caption for caption in found.values()):
        return found
    ids = ids or find_ids(source)
    return found if ids is None else fill_captions(found, Source(open_document(ids), source.notes, noun="clip"))


def find_ids(source: Source) -> Path | None:
    """The file of ids that lies next to a file of captions with blanks."""
    if not isinstance(source.document, FileDocument):
        return None
    path = source.document.path
    stem = path.stem.removesuffix("_blank")
    names = (f"{stem}_onlyIDs{version}{path.suffix}" for version in ("_NEW", ""))
    return next((file for name in names if (file := path.with_name(name)).is_file()), None)


def fill_captions(captions: Mapping[str, str], source: Source) -> dict[str, str]:
    """Captions with the ids of a file in their blanks, each as a tag that a person is known by."""
    source.notes.add(f"blanks of captions hold the ids of {source.document}")
    ids = {clip: read_ids(text) for clip, text in read_clip_captions(source).items()}
    spelled = all(PERSON.fullmatch(id) for row in ids.values() for id in row)
    number: dict[str, int] = {}
    filled: dict[str, str] = {}
    for clip, caption in captions.items():
        around, row = caption.split(BLANK), ids.get(clip, ())
        if len(row) != len(around) - 1:
            problem = f"{len(row)} ids for {len(around) - 1} blanks of its caption"
            raise source.wrong(problem, clip, None, "an id a blank, in the order of the caption; _ for no blank")
        tags = (f"[{id}]" if spelled else f"[PERSON{number.setdefault(id, len(number) + 1)}]" for id in row)
        filled[clip] = around[0] + "".join(tag + text for tag, text in zip(tags, around[1:], strict=True))
    return filled


def read_ids(text: str) -> tuple[str, ...]:
    """`[PERSON1],[PERSON2]` without its brackets; () for `_`."""
    return () if text.strip() in ("", NO_BLANK) else tuple(id.strip(" []") for id in text.split(","))


def group_films(clips: Iterable[str], overlapping: bool) -> list[tuple[str, ...]]:
    """Sets of five consecutive clips of a film, the last one maybe shorter; overlapping ones begin at every clip."""
    films: dict[str, list[str]] = {}
    for clip in clips:
        films.setdefault(clip.rpartition("_")[0] or clip.rpartition("-")[0], []).append(clip)
    return [
        tuple(film[start : start + CLIPS])
        for film in films.values()
        for first in range(CLIPS if overlapping else 1)
        for start in range(first, len(film), CLIPS)
    ]


@dataclass(frozen=True, slots=True)
class SplitFiles:
    """What a folder has of a split."""

    captions: Path
    ids: Path | None
    sets: Path | None


def find_tables(folder: Path, split: str) -> SplitFiles | None:
    """The tables of a split by their names; None where the folder has none of captions.

    LSMDC16_annos_val_blank.csv   captions, before LSMDC16_annos_val.csv      valSets.csv   sets
    LSMDC16_annos_val_onlyIDs_NEW.csv, references_val_new.csv   ids
    """
    tables = {f: words_of_name(f.name) for f in sorted(folder.iterdir()) if f.suffix.lower() in TABLES}
    names = SPLITS.get(split, (split,))
    sets = [f for f, words in tables.items() if any(f"{n}sets" in words or {n, "sets"} <= set(words) for n in names)]
    of_split = [
        f for f, words in tables.items() if set(names) & set(words) and not any(word.endswith("sets") for word in words)
    ]
    only_ids = [f for f in of_split if any(word.startswith("onlyids") for word in tables[f])]
    ids = only_ids or [f for f in of_split if "references" in tables[f]]
    captions = [f for f in of_split if f not in only_ids and "references" not in tables[f]]
    blanks = [f for f in captions if "blank" in tables[f]]
    if not captions:
        return None
    return SplitFiles(
        one_of(blanks or captions, split, "captions", folder),
        one_of(ids, split, "ids", folder) if blanks and ids else None,
        one_of([f for f in sets if f.stem.lower() == f"{split}sets"] or sets, split, "sets", folder) if sets else None,
    )


def one_of(files: list[Path], split: str, what: str, folder: Path) -> Path:
    if len(files) > 1:
        names = ", ".join(f.name for f in files)
        problem = f"expected one file of {what} of the split {split!r}, saw {names}"
        raise InputError(problem, file=folder, hint="name the file itself")
    return files[0]


def read_sets(source: Source) -> Sets:
    """The captionsets of a file whose sets nobody names."""
    return group_clips(source, None, "disjoint")


def write_captions(captions: Mapping[str, str], target: Source) -> Iterator[str]:
    """`clip ⇥ caption`."""
    for clip, caption in captions.items():
        if any(c in caption for c in "\t\r\n"):
            raise target.wrong("a tab or a line break in its caption", clip, None, "write captionsets (.jsonl) instead")
        yield f"{clip}\t{caption}\n"


FORMAT = Format(
    name="clip-captions",
    about="captions of single clips (with --sets), a line a clip: clip, tab, …, caption; [...] for a blank",
    holds="either",
    tasks=("identity",),
    pattern="*.csv",
    read_sets=read_sets,
    write=write_captions,
    example="1005_Signs_00.01.21\t[PERSON1] looks at [PERSON2].",
)
