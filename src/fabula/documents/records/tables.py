"""Tables of numbers inside JSON, read without a Python object per number: what makes 10,000,000 answers bearable.

`lift_tables` takes every `[[1, 2.5], [3, 4]]` that follows a key out of a text, and leaves a mark in its place. It
takes only what is beyond doubt; whatever it does not take stays in the JSON, whose reader says what is wrong with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from fabula._kernels import native
from fabula.core.errors import InputError
from fabula.documents.files import decode_text, parse_json
from fabula.documents.safe_open import open_bytes

if TYPE_CHECKING:
    from fabula.documents.safe_open import File

Table = NDArray[np.float64]  # [N, C]
Piece = TypeVar("Piece")
Lifted = tuple[bytes, NDArray[np.float64], NDArray[np.int64]]

CHUNK = 1 << 22  # bytes read at a time
MARK = "\0"  # how a mark begins: the string "\u00007" stands where table 7 was

ROWS = re.compile(rb"\[\s*(?:\[[-+.\deE,\s]+\]\s*(?:,\s*(?=\[)|(?=\])))*\]")


def lift_tables(text: bytes, key: str, first: int = 0) -> Lifted:
    """Every plain table that follows `"key": ` in the text.

    Gives what is left, with marks numbered from `first`; the tables' numbers end to end; and their shapes. [K, 2]
    """
    kernels = native()
    if kernels is None:
        return lift_tables_python(text, key, first)
    return cast(Lifted, kernels.lift(text, key, first))


def lift_tables_python(text: bytes, key: str, first: int) -> Lifted:
    """The specification of the kernel."""
    if not 0 <= first <= 1 << 62:
        raise ValueError("the first number is from 0 to 2^62")
    follows = re.compile(re.escape(f'"{key}"'.encode()) + rb"[ \n\t\r]*+(:?)[ \n\t\r]*+")
    left, done = [], 0
    values: list[Table] = []
    for match in follows.finditer(text):
        found = find_table(text, match.end()) if match.group(1) and match.start() >= done else None
        if found is None:
            continue
        left += [text[done : match.end()], json.dumps(f"{MARK}{first + len(values)}").encode()]
        done, table = found
        values.append(table)
    shapes = np.array([t.shape for t in values], dtype=np.int64).reshape(-1, 2)
    return b"".join([*left, text[done:]]), np.concatenate([np.zeros(0), *(t.ravel() for t in values)]), shapes


def find_table(text: bytes, start: int) -> tuple[int, Table] | None:
    """The table that begins at `start`, and where it ends; None where there is none."""
    match = ROWS.match(text, start)
    if match is None:
        return None
    try:
        rows = json.loads(match.group())
        table = np.array(rows, dtype=np.float64).reshape(len(rows), len(rows[0]) if rows else 0)
    except (ValueError, OverflowError):  # not JSON, or rows of different lengths, or an integer beyond all floats
        return None
    return (match.end(), table) if np.isfinite(table).all() else None


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of one piece of text, end to end, and their numbers from `first` on."""

    first: int
    values: NDArray[np.float64]
    shapes: NDArray[np.int64]  # [K, 2]

    def __len__(self) -> int:
        return len(self.shapes)

    def __iter__(self) -> Iterator[Table]:
        at = 0
        for rows, columns in self.shapes.tolist():
            yield self.values[at : at + rows * columns].reshape(rows, columns)
            at += rows * columns


def lookahead(stream: Iterator[Piece]) -> Iterator[Piece]:
    """The same, the next one being made in a thread while this one is used: the kernel lets go of the GIL.

    The first few are made on the spot: of a small file there are no more, and no thread is worth its start.
    """
    yield from islice(stream, 2)
    piece = next(stream, None)
    if piece is None:
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as worker:
        while piece is not None:
            coming = worker.submit(next, stream, None)
            yield piece
            piece = coming.result()


def read_line_pieces(path: File, key: str, chunk: int = CHUNK) -> Iterator[tuple[list[tuple[int, Any]], Tables]]:
    """A file of JSON lines as a stream: the objects of some numbered lines without their tables, and the tables."""
    number = 0
    for left, tables in lookahead(cut_lines(path, key, chunk)):
        yield parse_lines(left, path, number), tables
        number += left.count(b"\n")


def cut_lines(path: File, key: str, chunk: int) -> Iterator[tuple[bytes, Tables]]:
    first = 0
    with open_bytes(path) as stream:
        while fresh := stream.read(chunk):
            left, values, shapes = lift_tables(fresh + stream.readline(), key, first)
            yield left, Tables(first, values, shapes)
            first += len(shapes)


def parse_lines(text: bytes, path: object, before: int = 0) -> list[tuple[int, Any]]:
    """The objects of some lines with their numbers, from `before` + 1; blank lines are passed over.

    They are read as one list, which is quicker; where that fails, one by one, to name the line.
    """
    numbered = [(n, line) for n, line in enumerate(text.split(b"\n"), before + 1) if line and not line.isspace()]
    try:
        found = parse_json(decode_text(b"[" + b",".join(line for _, line in numbered) + b"]", path, before + 2), path)
        if len(found) == len(numbered):
            return [(n, thing) for (n, _), thing in zip(numbered, found, strict=True)]
    except InputError:
        pass
    return [(n, parse_json(decode_text(line, path, n).strip(), path, n)) for n, line in numbered]


def read_line_objects(path: File) -> Iterator[tuple[int, Any]]:
    """The objects of a .jsonl(.gz) file with their line numbers, streamed."""
    number = 0
    with open_bytes(path) as stream:
        while fresh := stream.read(CHUNK):
            fresh += stream.readline()
            yield from parse_lines(fresh, path, number)
            number += fresh.count(b"\n")


def find_mark(value: Any) -> int | None:
    """Which table stood there, None where none did."""
    return int(value[1:]) if type(value) is str and value[:1] == MARK and value[1:].isdigit() else None
