"""The videos below a folder, and how they differ from the rows of a store.

A video's name is its path below the root, with / between its parts, whatever stands in it: it is carried as data. A
name that is no text (bytes that are no UTF-8) is skipped with a warning; so is a link that leads out of the root, for
whoever may look at the store may look at its videos.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fabula.core.errors import InputError
from fabula.core.notes import ignore
from fabula.documents.files import check_path
from fabula.library.scan import Job
from fabula.library.store import Video
from fabula.media.base import stamp
from fabula.media.decode import ENDINGS


@dataclass(frozen=True)
class VideoFile:
    """A file that is a video by its name."""

    path: Path
    size: int
    mtime_ns: int


def find_root(folder: str | Path) -> Path:
    root = check_path(folder)
    if not root.is_dir():
        raise InputError(
            "no such folder" if not root.exists() else "is no folder",
            file=root,
            hint="name the folder of the videos; a store keeps all that lie below it",
        )
    return root.resolve()


def walk(root: Path, warn: Callable[[str], None] = ignore) -> dict[str, VideoFile]:
    """Name → file, in the order of names. A folder that cannot be read is no folder without videos: it is refused."""
    found: dict[str, VideoFile] = {}
    passed: list[str] = []
    for path in sorted(list_files(root)):
        name = path.relative_to(root).as_posix()
        try:
            name.encode()
        except UnicodeEncodeError:
            passed.append(f"{os.fsencode(path.name)!r} (its name is no UTF-8)")
            continue
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            passed.append(f"{name!r} (a link out of the folder)")
            continue
        try:
            found[name] = VideoFile(path, *stamp(path))
        except FileNotFoundError:  # gone meanwhile, or a link to nothing
            continue
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", file=path, hint="check its permissions") from None
    if passed:
        more = ", …" if len(passed) > 3 else ""
        warn(f"{len(passed)} skipped: {', '.join(passed[:3])}{more}")
    if not found:
        raise InputError(
            "a folder without videos",
            file=root,
            hint=f"their names end in {', '.join(ENDINGS[:6])} …; nothing was changed",
        )
    return found


def list_files(root: Path) -> list[Path]:
    """All below it that end as videos do and are not hidden."""

    def refuse(error: OSError) -> None:
        raise InputError(
            f"cannot be read ({error.strerror})",
            file=error.filename,
            hint="its videos would pass for deleted; nothing was changed",
        )

    files = []
    for inside, folders, names in os.walk(root, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(inside, name)
            if path.suffix.lower() in ENDINGS and not name.startswith(".") and path.is_file():
                files.append(path)
    return files


def compare(there: Mapping[str, Video], found: Mapping[str, VideoFile], retry: bool) -> tuple[list[Job], list[str]]:
    """What is to be looked at, and the videos whose files are gone."""
    todo: list[Job] = []
    for name, file in found.items():
        row = there.get(name)
        if row is None or (row.problem is not None and retry) or row.size != file.size:
            todo.append(Job(name, file.path))
        elif row.mtime_ns != file.mtime_ns:  # the same bytes? whoever looks at it tells
            todo.append(Job(name, file.path, row.digest or None))
    return todo, [name for name in there if name not in found]
