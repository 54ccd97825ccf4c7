"""Sends a file in ranges (RFC 9110 §14), as players request them. The client never chooses the path.

Nor is it said by a study or a store alone, which somebody else may have made: a file is sent only if it is a video, by
its name and by its first bytes, and lies in the folder of the videos, links followed (`find_fault`); and that folder
holds no other people's or the system's folders (`check_folder`).
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fabula.core.errors import InputError

KINDS = {
    ".mp4": "video/mp4",
    ".m4v": "video/mp4",
    ".mov": "video/mp4",
    ".webm": "video/webm",
    ".ogv": "video/ogg",
}  # what browsers play
BEGINS = (b"\x1a\x45\xdf\xa3", b"OggS")  # Matroska and WebM, Ogg
BOXES = (b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide")  # MPEG-4 and QuickTime: behind the first box's length
PIECE = 1 << 16
RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})", re.ASCII)


class Part(NamedTuple):
    """Bytes `first` to `last` of a file of `size`; `whole` where none were named."""

    first: int
    last: int
    size: int
    whole: bool

    @property
    def length(self) -> int:
        return self.last - self.first + 1


def find_part(header: str | None, size: int) -> Part | None:
    """The range that a Range header requests; None if it cannot be satisfied. Several ranges return the whole file."""
    if header is None or not (found := RANGE.fullmatch(header.strip())):
        return Part(0, size - 1, size, True)
    first, last = found.groups()
    if not first and not last:
        return Part(0, size - 1, size, True)
    if not first:  # the last so many bytes
        length = int(last)
        return Part(max(0, size - length), size - 1, size, False) if length and size else None
    begin, end = int(first), min(int(last) if last else size - 1, size - 1)
    return Part(begin, end, size, False) if begin <= end else None


def read_part(path: Path, part: Part) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(part.first)
        left = part.length
        while left > 0 and (piece := file.read(min(PIECE, left))):
            left -= len(piece)
            yield piece


def describe(path: Path, part: Part) -> tuple[int, dict[str, str]]:
    """The status and headers of a part."""
    headers = {
        "Content-Type": KINDS.get(path.suffix.lower(), "application/octet-stream"),
        "Accept-Ranges": "bytes",
        "Content-Length": str(part.length),
        "Cache-Control": "private, no-cache",
    }
    if part.whole:
        return 200, headers
    return 206, {**headers, "Content-Range": f"bytes {part.first}-{part.last}/{part.size}"}


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a file lies in a folder, symbolic links followed."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def find_fault(path: Path, folder: Path) -> str | None:
    """The reason not to send a file of the videos' folder to browsers; None if it may be sent."""
    if not is_inside(path, folder):
        return "leads out of the folder of the videos"
    if path.suffix.lower() not in KINDS:
        return f"is not of a kind that browsers play ({', '.join(KINDS)})"
    if not path.is_file():
        return "is gone"
    try:
        with path.open("rb") as file:
            head = file.read(8)
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return None if head.startswith(BEGINS) or head[4:] in BOXES else "is no video by its first bytes"


def check_folder(folder: Path, whose: object, hint: str) -> None:
    """Refuse to serve from a folder that holds everybody's files: /, /home, whatever the study or store says."""
    root = Path(os.path.realpath(folder))
    others = [Path("/etc"), Path("/usr")]
    with contextlib.suppress(RuntimeError):  # nobody's
        others.insert(0, Path.home())
    below = [p for p in others if p != root and p.is_relative_to(root)]
    if below:
        raise InputError(f"its videos would be served from {root}, which holds {below[0]}", file=whose, hint=hint)
