"""The captionsets of a split: of a file, or of a folder with files of captionsets or LSMDC's tables. No torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fabula.core.errors import InputError
from fabula.core.notes import Notes
from fabula.documents.files import check_path, words_of_name
from fabula.evaluate.captionsets import read_captionsets
from fabula.io.identity.captionsets import SetText
from fabula.io.identity.clip_captions import BLANK, find_tables
from fabula.learn.splits import pick_split


def has_json(folder: Path, split: str) -> bool:
    return any(split in words_of_name(file.name) for file in folder.glob("*.json*"))


def has_split(folder: Path, split: str) -> bool:
    """True if a folder has a file of captionsets, or of captions of clips, of this split."""
    return has_json(folder, split) or find_tables(folder, split) is not None


def read_sets_of(path: str | Path, split: str, notes: Notes, sets: Path | None = None) -> dict[str, SetText]:
    """The captionsets of a file, or of the files of a folder that have the split (train, val, test) in their names.

    Captions of clips (LSMDC's tables) are grouped by the file of sets; without one, five consecutive clips of a film
    are a set, and to be trained on a set begins at every clip.
    """
    path, ids = check_path(path), None
    if path.is_dir():
        tables = None if has_json(path, split) else find_tables(path, split)
        if tables is None:
            path = pick_split(path, split)
        else:
            path, ids, sets = tables.captions, tables.ids, sets or tables.sets
    return read_captionsets(path, notes, sets=sets, grouped="overlapping" if split == "train" else "disjoint", ids=ids)


def check_filled(sets: Mapping[str, SetText], path: Path) -> None:
    """Refuse to train on blanks that nobody fills."""
    for name, one in sets.items():
        if any(BLANK in caption for caption in one.captions or ()):
            raise InputError(
                f"a blank {BLANK} that nobody fills",
                file=path,
                video=name,
                noun="captionset",
                hint="who belongs there is in NAME_onlyIDs_NEW.csv next to NAME_blank.csv, an id a blank",
            )
