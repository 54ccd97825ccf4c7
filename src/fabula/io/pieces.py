"""A file, or a folder of files, cut into pieces that can be read apart: bytes of JSON Lines, groups of Parquet rows.

A piece knows which line of its file comes first, so that a complaint names the same place whoever reads it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError
from fabula.documents.files import PARQUET, LineBytes, parse_lines
from fabula.documents.safe_open import name_failures

PIECE = 8 << 20  # bytes, about
READ = 1 << 20


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of one file of Fabula's own lines."""

    path: Path  # as it was named
    home: Path  # where relative names begin: who reads the piece may stand elsewhere
    first: int = 0  # byte, or group of rows
    last: int | None = None  # the first that no longer belongs to it; None: to the end
    before: int = 0  # lines or rows that come before it

    def objects(self) -> Iterator[tuple[int, Any]]:
        """Entries with their numbers, streamed."""
        chunks = self.chunks()
        if chunks is not None:
            return (pair for before, data in chunks for pair in parse_lines(data, self.path, before))
        from fabula.documents import parquet

        return parquet.read_rows(self.home / self.path, self.path, self.first, self.last, self.before)

    def chunks(self) -> LineBytes | None:
        """The same as bytes, for those who can read them so; None of Parquet."""
        if self.path.suffix == PARQUET:
            return None
        return LineBytes(self.home / self.path, self.path, self.first, self.last, self.before)


def cut_file(path: Path, size: int = PIECE) -> tuple[list[Piece], bytes]:
    """One file in pieces of about `size` bytes, and a digest of it. A packed file is one piece."""
    home, digest = Path.cwd(), hashlib.blake2b(digest_size=16)
    whole = path.suffix in (".gz", PARQUET)
    starts, lines, at = [(0, 0)], 0, 0  # where pieces begin: byte, lines before it
    with name_failures(path), path.open("rb") as raw:
        if not path.is_file():
            hint = "copy it into a file first: here it is read more than once"
            raise InputError("is a device or a pipe", file=path, hint=hint)
        while chunk := raw.read(READ):
            digest.update(chunk)
            end = chunk.rfind(b"\n") + 1
            if not whole and end and at + end - starts[-1][0] >= size:
                starts.append((at + end, lines + chunk.count(b"\n", 0, end)))
            lines, at = lines + chunk.count(b"\n"), at + len(chunk)
    if path.suffix == PARQUET:
        starts, at = cut_groups(path, size)
    ends = [start for start, _ in starts[1:]] + [None if whole and path.suffix == ".gz" else at]
    made = [Piece(path, home, start, end, n) for (start, n), end in zip(starts, ends, strict=True)]
    return [p for p in made if p.first != p.last] or made[:1], digest.digest()


def cut_groups(path: Path, size: int) -> tuple[list[tuple[int, int]], int]:
    """Where pieces of a Parquet file begin: group, rows before it; and how many groups there are."""
    from fabula.documents import parquet

    counts = parquet.count_groups(path)
    most = max(1, sum(counts) * size // max(1, path.stat().st_size))  # rows of a piece, about
    starts, rows = [(0, 0)], 0
    for i, count in enumerate(counts):
        if rows - starts[-1][1] >= most:
            starts.append((i, rows))
        rows += count
    return starts, len(counts)
