"""Files through the kernel: runs of plain records, and between them what is not plain, to be read one by one.

A file of lines, or a document whose long lists hold records. Memory is what the kernel is given at a time.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from fabula.core.errors import InputError
from fabula.documents.files import LineBytes, load_json, parse_json, parse_lines
from fabula.documents.records import plain
from fabula.documents.records.plain import BLANKS, Shape, find_extent
from fabula.documents.records.tables import lookahead
from fabula.documents.safe_open import check_held, open_bytes

if TYPE_CHECKING:
    from fabula.documents.safe_open import File

CHUNK = 1 << 20  # bytes read at a time
NEAR = 64  # bytes: a record that ends so near to the end of the text may only lack what follows it


@dataclass(frozen=True, slots=True)
class Records:
    """Records that follow each other, as columns by key."""

    n: int
    columns: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.columns[key]


BEGINS = Records(0, {})  # a list


@dataclass(frozen=True, slots=True)
class Odd:
    """A record that is not plain: its text, and the number of its line (in lines) or its place in the list."""

    place: int
    text: bytes


class Text:
    """A file as a text that slides: what was read is forgotten, and a NUL follows what is there."""

    holds = "line"  # what must fit into it

    def __init__(self, path: File, stream: IO[bytes], chunk: int = CHUNK) -> None:
        self.path, self.stream, self.chunk = path, stream, chunk
        self.data = bytearray(2 * chunk + 1)
        self.at = self.end = 0
        self.over = False  # nothing more will come

    def more(self) -> None:
        """Read on, behind what is still needed."""
        left = self.data[self.at : self.end]
        check_held(self.path, len(left), self.holds)
        if len(left) + self.chunk >= len(self.data):
            self.data = bytearray(2 * (len(left) + self.chunk) + 1)
        self.data[: len(left)] = left
        self.at, self.end = 0, len(left)
        with memoryview(self.data) as view, view[self.end : len(self.data) - 1] as room:
            got = self.stream.readinto(room)  # type: ignore[attr-defined]
        self.over = not got
        self.end += got
        self.data[self.end] = 0

    def slice(self, stop: int) -> bytes:
        """Up to `stop`, skipped."""
        found = bytes(self.data[self.at : stop])
        self.at = stop
        return found


def read_line_records(path: File, shape: Shape, chunk: int = CHUNK) -> Iterator[Records | Odd]:
    """A file of JSON lines: runs of plain records, and the lines between them that are not."""
    return lookahead(cut_runs(path, shape, chunk))


def cut_runs(path: File, shape: Shape, chunk: int) -> Iterator[Records | Odd]:
    number = 1
    with open_bytes(path) as stream:
        text = Text(path, stream, chunk)
        while not text.over:
            text.more()
            whole = text.end if text.over else text.data.rfind(b"\n", text.at, text.end) + 1
            last_byte, text.data[whole] = text.data[whole], 0
            while text.at < whole:
                found = plain.scan_records(text.data, text.at, whole, True, shape)
                number, text.at = number + found.newlines, found.stop
                if found.n:
                    yield Records(found.n, name_columns(shape, found.columns))
                if not found.ended:
                    stop = text.data.find(b"\n", text.at, whole)
                    yield Odd(number, text.slice(whole if stop < 0 else stop + 1))
                    number += stop >= 0
            text.data[whole] = last_byte


def read_line_chunks(path: File, shape: Shape) -> Iterator[Records | list[tuple[int, Any]]]:
    """A file of JSON lines, some at a time: as records where all of them are plain, else as numbered objects.

    For formats whose lines are plain or nearly all of them are not: what is wrong is then said as without the kernel.
    """
    for before, data in LineBytes(path):
        start = len(codecs.BOM_UTF8) if not before and data.startswith(codecs.BOM_UTF8) else 0
        found = plain.scan_records(data + b"\0", start, len(data), True, shape)
        if not found.ended:
            yield list(parse_lines(data, path, before))
        elif found.n:
            yield Records(found.n, name_columns(shape, found.columns))


def name_columns(shape: Shape, columns: Sequence[Any]) -> dict[str, Any]:
    return {key: column for (key, _), column in zip(shape.fields, columns, strict=True)}


class Broken(Exception):  # noqa: N818  (never leaves this file)
    """The document is not what it began as."""


class Document(Text):
    """A JSON document as a stream: the members of its root, and the records of the lists among them."""

    holds = "value"

    def peek(self) -> bytes:
        """The next character that is no white space, b"" at the end."""
        while True:
            found = BLANKS[False].match(self.data, self.at, self.end)
            assert found is not None
            self.at = found.end()
            if self.at < self.end or self.over:
                return bytes(self.data[self.at : min(self.at + 1, self.end)])
            self.more()

    def take(self, of: bytes) -> bytes:
        found = self.peek()
        if not found or found not in of:
            raise Broken
        self.at += 1
        return found

    def raw(self) -> bytes:
        """The text of the next value, whole."""
        self.peek()
        while (stop := find_extent(self.data, self.at, self.end)) < 0:
            if self.over:
                raise Broken
            self.more()
        return self.slice(stop)

    def value(self) -> Any:
        try:
            return parse_json(self.raw().decode(), self.path)
        except (InputError, UnicodeDecodeError):
            raise Broken from None

    def members(self) -> Iterator[str]:
        """The keys of the root; the caller passes over each one's value before asking for the next."""
        self.more()
        if self.data.startswith(codecs.BOM_UTF8):
            self.at = len(codecs.BOM_UTF8)
        self.take(b"{")
        known_keys = set[str]()
        ended = self.peek() == b"}"
        self.at += ended
        while not ended:
            key = self.value() if self.peek() == b'"' else None
            if key is None or key in known_keys:
                raise Broken
            known_keys.add(key)
            self.take(b":")
            self.peek()
            yield key
            ended = self.take(b",}") == b"}"
        if self.peek():
            raise Broken

    def records(self, shape: Shape) -> Iterator[Records | Odd]:
        """The elements of the list that begins here."""
        self.take(b"[")
        if self.peek() == b"]":
            self.at += 1
            return
        place, ended = 0, False
        while not ended:
            self.peek()
            found = plain.scan_records(self.data, self.at, self.end, False, shape)
            place, self.at, ended = place + found.n, found.stop, found.ended
            if found.n:
                yield Records(found.n, name_columns(shape, found.columns))
            if ended:
                return
            if not self.over:  # is it odd, or only cut off?
                stop = find_extent(self.data, self.at, self.end)
                if stop < 0 or self.end - stop < NEAR:
                    self.more()
                    continue
            yield Odd(place, self.raw())
            place, ended = place + 1, self.take(b",]") == b"]"


def read_members(path: File, lists: Sequence[str], shape: Shape, chunk: int = CHUNK) -> Iterator[tuple[str, Any]]:
    """The root's members, streamed: (key, value); of the lists named, (key, BEGINS), then (key, Records or Odd) …"""
    try:
        with open_bytes(path) as stream:
            document = Document(path, stream, chunk)
            for key in document.members():
                if key in lists and document.peek() == b"[":
                    yield key, BEGINS
                    for batch in document.records(shape):
                        yield key, batch
                else:
                    yield key, document.value()
    except Broken:
        load_json(path)  # says what is wrong, and where
        raise InputError("the file cannot be read as a stream", file=path, hint="is it being written?") from None


def parse_odd_line(odd: Odd, path: object) -> list[tuple[int, Any]]:
    """The object of an odd line with its number; nothing where the line is blank."""
    return list(parse_lines(odd.text, path, odd.place - 1))
