"""A path that is printed as what was given, and whose file goes when nobody holds it any more."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path, PosixPath, WindowsPath
from typing import Any

from fabula.core.errors import FabulaError

if sys.platform == "win32":
    Base = WindowsPath
else:
    Base = PosixPath

LINE = re.compile(r"^line (\d+)")


class Given(Base):
    """Where the copy of an object lies; `str` says what the object was: `predictions given as a dict`."""

    called: str | None = None

    def __str__(self) -> str:
        return self.called or super().__str__()

    def __fspath__(self) -> str:
        return super().__str__()

    def __repr__(self) -> str:
        return f"Given({str(self)!r})"

    def with_segments(self, *parts: Any) -> Path:
        """What is made of it (its parent, a neighbour) is a path like others."""
        return Path(*parts)

    def __reduce__(self) -> Any:
        return at, (self.__fspath__(), str(self))

    def rename_place(self, field: str | None) -> str | None:
        """Entries are counted from 0, as Python does, where lines of files are from 1."""
        return field and LINE.sub(lambda found: f"[{int(found[1]) - 1}]", field)


def at(place: str, called: str) -> Given:
    """The same path elsewhere: in another process. The file is not its own."""
    path = Given(place)
    path.called = called
    return path


def keep(name: str, write: Callable[[Any], object]) -> Given:
    """A file of this name in a temporary folder, written by `write`, which gets it open; gone with the last holder."""
    called, _, ending = name.rpartition(".")
    try:
        folder = tempfile.mkdtemp(prefix="fabula-given-")
    except OSError as error:
        raise FabulaError(
            f"{called}: no room for a temporary copy ({error.strerror}); name a folder with TMPDIR, or write a file "
            "and name it"
        ) from None
    try:
        path = at(f"{folder}/{re.sub(r'[^-. 0-9A-Za-z_]', '_', called)[:80]}.{ending}", called)
        weakref.finalize(path, shutil.rmtree, folder, ignore_errors=True)
        with open(path.__fspath__(), "wb") as file:  # noqa: PTH123
            write(file)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise FabulaError(
            f"{called}: its temporary copy cannot be written ({error.strerror}); name a folder with TMPDIR"
        ) from None
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return path
