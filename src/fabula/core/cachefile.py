"""Tables of numbers as one memory-mapped file in the user's cache folder, whole or not at all. The file is:

    magic · format version · CRC-32 of all that follows · fingerprint of what it was made from · number of sections
    per section: name, element type, offset, length
    the sections, each aligned to 64 bytes

The CRC covers every byte behind it and is checked each time the file is opened. For the 48 MB of METEOR's tables that
takes about 15 ms, so nothing cheaper is needed, and a cut or flipped file is noticed always, not only when the damage
is met; it is then built again.

A CRC is no proof of where a file comes from: anybody can make one that fits. Where it is known beforehand what the file
must hold, its digest (SHA-256) is compared instead, in about the same time; whoever knows no digest must check that the
numbers make sense. And a folder that others may write to is not read from at all (`find_distrust`).
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import stat
import struct
import sys
import threading
import time
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.generic]

HEAD = struct.Struct("<16sII32sI")  # magic, version, crc, fingerprint, sections
SECTION = struct.Struct("<16s4sQQ")  # name, element type, offset, elements
KINDS = frozenset(np.dtype(kind).str for kind in ("u1", "u2", "u4", "u8", "i4"))
MOST_BYTES = 1 << 30  # no table is a twentieth of it
PIECE = 1 << 22  # bytes that are hashed at a time


class Seal(NamedTuple):
    """What a file must carry to be the one that is looked for."""

    magic: bytes  # 16
    version: int
    fingerprint: bytes  # 32
    digest: bytes | None = None  # of all behind the header, where it is known


def cache_folder() -> Path:
    """Where compiled tables live: $FABULA_CACHE, else the platform's cache folder."""
    if chosen := os.environ.get("FABULA_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "fabula" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "fabula"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fabula"


def load(path: Path, seal: Seal) -> dict[str, Array] | None:
    """The sections of this file, read-only, or None if there is none, it was made from other things, or is damaged."""
    try:
        if not (path.is_file() and HEAD.size <= path.stat().st_size <= MOST_BYTES):  # a pipe would be waited for
            return None
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # absent; empty
        return None
    if len(data) < HEAD.size:
        return None
    magic, version, crc, made_from, count = HEAD.unpack_from(data)
    checked_from = HEAD.size - 36  # right behind the CRC itself
    if (magic, version, made_from) != seal[:3]:
        return None
    if seal.digest is not None:
        whole = make_digest(memoryview(data)[HEAD.size :]) == seal.digest
    else:
        whole = zlib.crc32(memoryview(data)[checked_from:]) == crc
    return read_sections(data, count) if whole else None


def read_sections(data: mmap.mmap, count: int) -> dict[str, Array] | None:
    """The sections in their order, one behind the other; None where the list of them does not fit the file."""
    sections: dict[str, Array] = {}
    end = HEAD.size + count * SECTION.size
    if end > len(data):
        return None
    for k in range(count):
        packed, code, offset, length = SECTION.unpack_from(data, HEAD.size + k * SECTION.size)
        name, kind = (text.rstrip(b"\0").decode("latin-1") for text in (packed, code))
        if kind not in KINDS or name in sections or offset != round_up(end):
            return None
        end = offset + length * np.dtype(kind).itemsize
        if end > len(data):
            return None
        sections[name] = np.frombuffer(data, kind, length, offset)
    return sections


def make_digest(data: memoryview) -> bytes:
    """SHA-256 of the SHA-256s of its pieces, which two threads share: twice as quick where there are two processors."""
    starts = range(0, len(data), PIECE)
    found = [b""] * len(starts)

    def hash_every_other(first: int) -> None:
        for k in range(first, len(starts), 2):
            found[k] = hashlib.sha256(data[starts[k] : starts[k] + PIECE]).digest()

    helper = threading.Thread(target=hash_every_other, args=(1,))
    try:
        helper.start()
    except RuntimeError:  # no thread to be had
        hash_every_other(1)
        hash_every_other(0)
    else:
        hash_every_other(0)
        helper.join()
    return hashlib.sha256(b"".join(found)).digest()


def find_distrust(path: Path) -> str | None:
    """Why a file of this name is not trusted, were it there: it or its folder is somebody else's, or open to others."""
    if not hasattr(os, "geteuid"):
        return None
    for place in (path.parent, path):
        try:
            found = place.stat()
        except OSError:  # not there, or not to be looked at: who opens it says so
            continue
        if found.st_uid not in (0, os.geteuid()):
            return f"{place} belongs to another user (number {found.st_uid})"
        by_group = found.st_mode & stat.S_IWGRP and not is_own_group(found.st_gid)
        if found.st_mode & stat.S_IWOTH or by_group:
            return f"other users may write to {place} (mode {stat.S_IMODE(found.st_mode):o})"
    return None


def is_own_group(number: int) -> bool:
    """Whether it is the group of this user alone, of the user's name, as many systems give to each."""
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(number), pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return False
    return group.gr_name == user and set(group.gr_mem) <= {user}


def make_folder(path: Path) -> None:
    """A folder that nobody else may write to, whatever the umask is; one that is there stays as it is."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def write(path: Path, seal: Seal, sections: dict[str, Array]) -> None:
    """Write beside the target, flush to the disk, then take the target's name in one step."""
    from fabula.core import atomic

    table, offset = b"", round_up(HEAD.size + SECTION.size * len(sections))
    for name, array in sections.items():
        table += SECTION.pack(name.encode(), array.dtype.str.encode(), offset, array.size)
        offset = round_up(offset + array.nbytes)
    with atomic.beside(path) as folder:
        built = folder / "file"
        with built.open("xb") as file:
            file.write(bytes(HEAD.size))
            crc = zlib.crc32(seal.fingerprint + struct.pack("<I", len(sections)))
            for piece in [table, *(array.tobytes() for array in sections.values())]:
                file.write(piece)
                crc = zlib.crc32(piece, crc)
                padding = bytes(round_up(file.tell()) - file.tell())
                file.write(padding)
                crc = zlib.crc32(padding, crc)
            file.seek(0)
            file.write(HEAD.pack(seal.magic, seal.version, crc, seal.fingerprint, len(sections)))
            file.flush()
            os.fsync(file.fileno())
        built.chmod(0o600)
        os.replace(built, path)  # noqa: PTH105


def round_up(offset: int) -> int:
    """The next multiple of 64."""
    return -(-offset // 64) * 64


def remove_leftovers(path: Path, older_than: float) -> None:
    """Temporary files that killed builders of earlier versions left; those of this one go by their locks."""
    for leftover in path.parent.glob(f"{path.stem}.*.tmp"):
        with contextlib.suppress(OSError):
            if time.time() - leftover.stat().st_mtime >= older_than:
                leftover.unlink()
