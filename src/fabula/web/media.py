"""A file sent in parts (RFC 9110 §14): players ask for ranges. Which file is never the asker's to say."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

KINDS = {
    ".mp4": "video/mp4",
    ".m4v": "video/mp4",
    ".mov": "video/mp4",
    ".webm": "video/webm",
    ".ogv": "video/ogg",
}  # what browsers play
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


def find_part(asked: str | None, size: int) -> Part | None:
    """The part that a Range header asks for; None where there is no such part. Several at once are answered whole."""
    if asked is None or not (found := RANGE.fullmatch(asked.strip())):
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
        while left > 0 and (some := file.read(min(PIECE, left))):
            left -= len(some)
            yield some


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
