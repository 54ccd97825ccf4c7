"""Who writes, and who works on what: locks of the kernel, which end with the process that holds them, however it ends.

In a folder every commit is made under one lock, so that two processes that index the same store take turns; and a
video that one of them works on is claimed, so that the other takes another. An object store has no such locks.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from fabula.core.atomic import PATIENCE, locked
from fabula.documents.files import name_write_failures

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

WRITER = "writer.lock"
CLAIMS = "claims.lock"


@contextlib.contextmanager
def writer_lock(folder: Path | None, patience: float = PATIENCE) -> Iterator[None]:
    """The lock of the one who writes; without a folder there is none."""
    if folder is None:
        yield
        return
    with contextlib.ExitStack() as stack:
        with name_write_failures(folder / WRITER):
            stack.enter_context(locked(folder / WRITER, patience, make=True))
        yield


class Claims:
    """Who works on which video: a lock on one byte of a file for each, at the place that the video's number says."""

    def __init__(self, folder: Path | None) -> None:
        self.file: int | None = None
        self.ours: set[int] = set()
        if folder is not None and fcntl is not None:
            with name_write_failures(folder / CLAIMS):
                self.file = os.open(folder / CLAIMS, os.O_RDWR | os.O_CREAT, 0o666)

    def take(self, number: int) -> bool:
        """Whether it is ours; where there are no locks, everything is everybody's, and the commit tells."""
        if self.file is not None and number not in self.ours:
            try:
                fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
            except (BlockingIOError, PermissionError):
                return False
            except OSError:
                return True
            self.ours.add(number)
        return True

    def give_back(self, number: int) -> None:
        if self.file is not None and number in self.ours:
            self.ours.discard(number)
            with contextlib.suppress(OSError):
                fcntl.lockf(self.file, fcntl.LOCK_UN, 1, number)

    def __enter__(self) -> Claims:
        return self

    def __exit__(self, *error: object) -> None:
        if self.file is not None:
            os.close(self.file)
            self.file = None
