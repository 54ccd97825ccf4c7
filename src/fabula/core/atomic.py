"""Files and folders that appear whole or not at all, and what killed processes left of them.

Whatever is written is made in a folder beside its target, `.NAME.RANDOM.tmp`, and takes the target's name at the end.
Whoever writes holds a lock on that folder, and the kernel lets go of it when the process ends, however it ends. So a
folder whose lock is free was left by a process that is dead, and the next that writes the same target takes it away.
A number in the name could not say as much: process numbers are given again, and other machines and containers that
see the same disk have their own. Where a system has no such locks (Windows, some network disks) nothing is taken away.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from fabula.core.errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

NAMED = 40  # characters of the target's name that its temporary carries
PATIENCE = 300.0  # seconds that a change by another process may take
EVERY = 0.02  # seconds between two looks
OURS = r"\.[a-z0-9_]{8}\.tmp"  # how it goes on


@contextlib.contextmanager
def beside(target: Path, sweep: bool = True) -> Iterator[Path]:
    """A folder of our own beside the target, gone afterwards with all that is still in it; OSError where none can be.

    `sweep` takes away what dead processes left of this target first.
    """
    if sweep:
        remove_leftovers(target)
    folder, lock = make_locked(target)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def make_locked(target: Path) -> tuple[Path, int | None]:
    """A new folder and the lock on it, None where there are no locks."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name[:NAMED]}.", suffix=".tmp", dir=target.parent))
        if fcntl is None:
            return folder, None
        try:
            lock = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:  # somebody who swept was quicker than our lock
            continue
        except OSError:
            return folder, None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # somebody sweeps it this moment
            os.close(lock)
            continue
        except OSError:
            os.close(lock)
            return folder, None
        if folder.exists():  # else it was swept between the two calls
            return folder, lock
        os.close(lock)


def remove_leftovers(target: Path) -> None:
    """Take away what dead processes left beside this target."""
    ours = re.compile(re.escape(f".{target.name[:NAMED]}") + OURS)
    with contextlib.suppress(OSError), os.scandir(target.parent) as found:
        for leftover in [entry.path for entry in found if ours.fullmatch(entry.name)]:
            remove_dead(Path(leftover))


def remove_all_leftovers(folder: Path) -> None:
    """Take away what dead processes left anywhere in this folder, which is ours alone."""
    ours = re.compile(r"\..*" + OURS)
    for inside, folders, _ in os.walk(folder):
        for name in [name for name in folders if ours.fullmatch(name)]:
            folders.remove(name)
            remove_dead(Path(inside) / name)


def remove_dead(folder: Path) -> None:
    """Take the folder away, unless a process that lives holds its lock, or nobody can tell."""
    if fcntl is None or folder.is_symlink():
        return
    with contextlib.suppress(OSError):
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)


def take_place(made: Path, target: Path, private: bool = False) -> None:
    """What was made beside the target takes its name, in one step; a file keeps the rights that the old one had, unless
    it is `private`: then nobody but its owner reads it."""
    if private:
        made.chmod(0o600)
    elif target.exists() and made.is_file():
        made.chmod(target.stat().st_mode & 0o777)
    os.replace(made, target)  # noqa: PTH105


def take_new_folder_place(made: Path, target: Path) -> None:
    """The same where no folder of that name may be there yet: of several who make it at once, one succeeds.

    FileExistsError for all others: a system renames no folder onto one that is not empty.
    """
    if target.exists() or target.is_symlink():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    try:
        made.rename(target)
    except OSError as error:
        if not target.exists():
            raise
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from error


def take_folder_place(made: Path, target: Path) -> None:
    """The same for a folder. One that is there steps aside first, since no system replaces a folder that is not empty:
    who is killed between the two steps leaves no folder of that name, never a mixture of both."""
    if target.exists():
        os.replace(target, made.with_name("old"))  # noqa: PTH105  (goes with the temporary)
        try:
            os.replace(made, target)  # noqa: PTH105
        except OSError:
            os.replace(made.with_name("old"), target)  # noqa: PTH105
            raise
    else:
        os.replace(made, target)  # noqa: PTH105


@contextlib.contextmanager
def locked(path: Path, patience: float = PATIENCE, make: bool = False) -> Iterator[None]:
    """The lock of the one who changes what belongs to this file; with `make` it is made where it is not there.

    Others wait for their turn, for so many seconds; OSError where it cannot be opened. A disk without locks has none.
    """
    if fcntl is None:
        yield
        return
    lock = os.open(path, os.O_RDWR | os.O_CREAT if make else os.O_RDONLY, 0o666)
    try:
        began = time.monotonic()
        while not try_lock(lock):
            if time.monotonic() - began > patience:
                problem = f"another process has been writing for {patience:.0f} s"
                raise InputError(problem, file=path, hint="wait for it, or end it")
            time.sleep(EVERY)
        yield
    finally:
        os.close(lock)


def try_lock(lock: int) -> bool:
    """Whether it is ours now; on a disk without locks it always is."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
