"""Tables of numbers inside JSON, read without a Python object per number: what makes 10,000,000 answers bearable.

`number_rows` reads `[[1, 2.5], [3, 4]]` at a place of the text as a [N, C] array. It passes only what is beyond doubt;
whatever it does not pass stays in the JSON, whose reader says what is wrong with it.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from fabula._kernels import native
from fabula.io._files import decode, failures_named, parse_json

Table = NDArray[np.float64]  # [N, C]

NOT_PLAIN, MORE = -1, -2  # not a table of numbers · the text ends before the table does
CHUNK = 1 << 22  # bytes read at a time
HELD = "\0"  # how the place of a table begins in what is left of the text; no JSON file holds a bare NUL

ROWS = re.compile(rb"\[\s*(?:\[[-+.\deE,\s]+\]\s*(?:,\s*(?=\[)|(?=\])))*\]")
PARTIAL = re.compile(rb"[-+.\deE,\s\[\]]*")


def number_rows(text: bytes, start: int) -> tuple[int, Table | None]:
    """The table that begins at `start`, and where it ends; (NOT_PLAIN or MORE, None) where there is none."""
    kernels = native()
    if kernels is None:
        return number_rows_python(text, start)
    return cast(tuple[int, Table | None], kernels.number_rows(text, start))


def number_rows_python(text: bytes, start: int) -> tuple[int, Table | None]:
    """The specification of the kernel."""
    match = ROWS.match(text, start)
    if match is None:
        rest = PARTIAL.match(text, start)
        open_ended = text[start : start + 1] == b"[" and rest is not None and rest.end() == len(text)
        return (MORE if open_ended else NOT_PLAIN), None
    try:
        rows = json.loads(match.group())
        table = np.array(rows, dtype=np.float64).reshape(len(rows), len(rows[0]) if rows else 0)
    except (ValueError, OverflowError):  # not JSON, or rows of different lengths, or an integer beyond all floats
        return NOT_PLAIN, None
    return (match.end(), table) if np.isfinite(table).all() else (NOT_PLAIN, None)


def key_pattern(key: str) -> re.Pattern[bytes]:
    """`"key": [`, up to the bracket."""
    return re.compile(rb'"' + re.escape(key.encode()) + rb'"\s{0,8}:\s{0,8}(?=\[)')


def lifted(line: bytes, key: re.Pattern[bytes], path: Path, number: int) -> tuple[Any, Table | None]:
    """A line's object, and the table under the key when it is a plain one: then the object holds HELD there."""
    if match := key.search(line):
        end, table = number_rows(line, match.end())
        if table is not None:
            line = line[: match.end()] + json.dumps(HELD).encode() + line[end:]
            return parse_json(decode(line, path, number).strip(), path, number), table
    return parse_json(decode(line, path, number).strip(), path, number), None


def byte_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Numbered lines of a file as bytes, streamed; blank lines are passed over."""
    with opened(path) as stream:
        for number, line in enumerate(stream, 1):
            if not line.isspace():
                yield number, line


def opened(path: Path) -> IO[bytes]:
    with failures_named(path):
        return cast(IO[bytes], gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def head(path: Path, size: int = 1 << 16) -> str:
    """The beginning of a file, to know its format by."""
    with opened(path) as stream, failures_named(path):
        return stream.read(size).decode("utf-8-sig", errors="replace")


def pieces(path: Path, key: re.Pattern[bytes], chunk: int = CHUNK) -> Iterator[bytes | Table]:
    """A document as a stream: its text in pieces, and each plain table under the key in its place.

    Memory: one chunk and the largest table.
    """
    with opened(path) as stream, failures_named(path):
        buffer, at, ended = b"", 0, False

        def more() -> None:
            nonlocal buffer, at, ended
            fresh = stream.read(chunk)
            ended = not fresh
            buffer, at = buffer[at:] + fresh, 0

        while True:
            match = key.search(buffer, at)
            if match is None:
                tail = len(buffer) if ended else max(at, len(buffer) - 256)  # a key may be cut in two
                yield buffer[at:tail]
                at = tail
                if ended:
                    return
                more()
                continue
            end, table = number_rows(buffer, match.end())
            if end == MORE and not ended:
                yield buffer[at : match.start()]
                at = match.start()
                more()
                continue
            yield buffer[at : match.end()]
            at = match.end()
            if table is not None:
                yield table
                at = end


def skeleton(path: Path, key: re.Pattern[bytes]) -> str:
    """The document's text with `HELD k` in the place of its k-th table."""
    out, k = [], 0
    for piece in pieces(path, key):
        if isinstance(piece, bytes):
            out.append(piece)
        else:
            out.append(json.dumps(f"{HELD}{k}").encode())
            k += 1
    return decode(b"".join(out), path)


def held(value: Any) -> int | None:
    """Which table stands there, None where none does."""
    return int(value[1:]) if isinstance(value, str) and value[:1] == HELD and value[1:].isdigit() else None
