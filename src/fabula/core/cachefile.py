"""Tables of numbers as one memory-mapped file in the user's cache folder, whole or not at all. The file is:

    magic · format version · CRC-32 of all that follows · fingerprint of what it was made from · number of sections
    per section: name, element type, offset, length
    the sections, each aligned to 64 bytes

The CRC covers every byte behind it and is checked each time the file is opened. For the 48 MB of METEOR's tables that
takes about 15 ms, so nothing cheaper is needed, and a cut or flipped file is noticed always, not only when the damage
is met; it is then built again.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import sys
import time
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabula.core import whole

Array = NDArray[np.generic]

HEAD = struct.Struct("<16sII32sI")  # magic, version, crc, fingerprint, sections
SECTION = struct.Struct("<16s4sQQ")  # name, element type, offset, elements


class Seal(NamedTuple):
    """What a file must carry to be the one that is looked for."""

    magic: bytes  # 16
    version: int
    fingerprint: bytes  # 32


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
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # absent; empty
        return None
    if len(data) < HEAD.size:
        return None
    magic, version, crc, made_from, count = HEAD.unpack_from(data)
    checked_from = HEAD.size - 36  # right behind the CRC itself
    if Seal(magic, version, made_from) != seal or zlib.crc32(memoryview(data)[checked_from:]) != crc:
        return None
    sections: dict[str, Array] = {}
    for k in range(count):
        name, kind, offset, length = SECTION.unpack_from(data, HEAD.size + k * SECTION.size)
        sections[name.rstrip(b"\0").decode()] = np.frombuffer(data, kind.rstrip(b"\0").decode(), length, offset)
    return sections


def write(path: Path, seal: Seal, sections: dict[str, Array]) -> None:
    """Write beside the target, flush to the disk, then take the target's name in one step."""
    table, offset = b"", round_up(HEAD.size + SECTION.size * len(sections))
    for name, array in sections.items():
        table += SECTION.pack(name.encode(), array.dtype.str.encode(), offset, array.size)
        offset = round_up(offset + array.nbytes)
    with whole.beside(path) as folder:
        made = folder / "file"
        with made.open("xb") as file:
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
        made.chmod(0o600)
        os.replace(made, path)  # noqa: PTH105


def round_up(offset: int) -> int:
    """The next multiple of 64."""
    return -(-offset // 64) * 64


def remove_leftovers(path: Path, older_than: float) -> None:
    """Temporary files that killed builders of earlier versions left; those of this one go by their locks."""
    for leftover in path.parent.glob(f"{path.stem}.*.tmp"):
        with contextlib.suppress(OSError):
            if time.time() - leftover.stat().st_mtime >= older_than:
                leftover.unlink()
