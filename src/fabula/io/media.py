"""Films and images of a folder by the ids of their rows: as they stand, without their ending, with or without `v_`.

An id that names its file with an ending (`kite.mp4`) means that file, or one of another ending where there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath

from fabula.core.errors import InputError, shown
from fabula.data.ids import respell_id
from fabula.documents.files import check_path

VIDEOS = (".mp4", ".webm", ".m4v", ".mov", ".mkv", ".ogv", ".avi")  # what browsers play comes first
IMAGES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".avif", ".svg")


def find_media(folder: Path, ids: Iterable[str | int], endings: Sequence[str]) -> dict[str, Path]:
    """Id → file, of the ids that have one. A folder without any is refused."""
    place = check_path(folder)
    if not place.is_dir():
        raise InputError("is no folder", file=folder, hint="name the folder that holds the files")
    try:
        there = sorted(p for p in place.rglob("*") if p.suffix.lower() in endings and p.is_file())
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=folder, hint="check the folder") from None
    if not there:
        hint = f"their names end in {', '.join(endings[:4])} …"
        raise InputError("a folder without such files", file=folder, hint=hint)
    named: dict[str, Path] = {}
    for path in sorted(there, key=lambda p: (endings.index(p.suffix.lower()), len(p.parts))):
        named.setdefault(path.name, path)
        named.setdefault(path.stem, path)
    found: dict[str, Path] = {}
    wanted = list(dict.fromkeys(map(str, ids)))
    for id in wanted:
        for name in spell(id, endings):
            if name in named:
                found[id] = named[name]
                break
    if wanted and not found:
        both = f"there is {shown(there[0].name)}, and the rows have {shown(wanted[0])}"
        raise InputError("no file has the name of a row", file=folder, hint=f"compare the ids: {both}")
    return found


def spell(id: str, endings: Sequence[str]) -> list[str]:
    """The names that a file of this id may have, the likeliest first."""
    plain = PurePath(id.replace("\\", "/")).name
    stem = PurePath(plain).stem if PurePath(plain).suffix.lower() in endings else plain
    return [plain, stem, *respell_id(stem)]
