"""JSON records as columns: what is plain goes through a kernel, a million at a time; the rest is read one by one.

A record is an object whose fields are asked for by name and kind. The kernel stops before a record that is not plain
(a field missing, a text where a number should be, a key twice, no JSON at all): it is then read as Python reads JSON,
by code that can say what is wrong with it.

kinds   id       a whole number or text         → list
        name     text · word  may be absent · text  may be absent or null → list, None where it is
        number   may be absent or null          → [R], NaN where it is
        window   [start, end] · windows  a list of them · either → [W, 2], and how many each record has [R]
        table    rows of equally many numbers   → all numbers end to end, and the tables' shapes [R, 2]
        skip     any text, number, true, false or null → nothing
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import numpy as np

from fabula._kernels import native
from fabula.core.errors import InputError
from fabula.io._fields import LONGEST_CAPTION, encodable
from fabula.io._files import failures_named, load_json, parse_json
from fabula.io._tables import ahead, objects, opened

T = TypeVar("T")
Buffer = bytes | bytearray
CHUNK = 1 << 20  # bytes read at a time
NEAR = 64  # bytes: a record that ends so near to the end of the text may only lack what follows it

STRING = rb'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*+"'
NUMBER = rb"-?(?:0|[1-9]\d*+)(?:\.\d++)?+(?:[eE][-+]?\d++)?+"
BLANKS = {True: re.compile(rb"[ \t\r]*+"), False: re.compile(rb"[ \t\r\n]*+")}  # in lines, elsewhere
KEY = re.compile(rb'"[^"\\\x00-\x1f\x80-\xff]*+"')
VALUE = re.compile(rb"%b|%b|true|false|null" % (STRING, NUMBER))
MARK = re.compile(rb"[\[\]{}:,]")
WHOLE = re.compile(rb"-?\d{1,18}")
BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"|["\[{\]},\x20\t\r\n]', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Shape:
    """Which fields a record has, by kind. Without `others`, a record with a field beside them is not plain."""

    fields: tuple[tuple[str, str], ...]
    others: bool = False


class Read(NamedTuple):
    """What was read up to `stop`; `ended`: the lines, or the list, ended there."""

    stop: int
    ended: bool
    newlines: int  # passed over
    n: int
    columns: list[Any]


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


def read(text: Buffer, at: int, end: int, lines: bool, shape: Shape) -> Read:
    """The plain records of text[at:end], which a NUL follows: one per line, or the elements of a list from here on."""
    kernels = native()
    if kernels is None:
        return read_python(text, at, end, lines, shape)
    return Read(*kernels.records(text, at, end, lines, shape.fields, shape.others, json.loads))


class NotPlain(Exception):  # noqa: N818  (nothing is wrong: somebody else reads it)
    """The record is not for us."""


class Scanner:
    """A cursor over one record after the other, by regular expressions: the specification of the kernel."""

    def __init__(self, text: Buffer, at: int, end: int, blank: re.Pattern[bytes]) -> None:
        self.text, self.at, self.end, self.blank = text, at, end, blank

    def take(self, wanted: re.Pattern[bytes], of: bytes = b"") -> bytes:
        """What matches here, one of the characters `of` when there are any; and the white space behind it."""
        found = wanted.match(self.text, self.at, self.end)
        if found is None or (of and found.group() not in of):
            raise NotPlain
        self.at = found.end()
        self.pass_blank()
        return found.group()

    def pass_blank(self) -> None:
        found = self.blank.match(self.text, self.at, self.end)
        assert found is not None
        self.at = found.end()

    def next(self) -> bytes:
        return bytes(self.text[self.at : min(self.at + 1, self.end)])

    def listing(self, item: Callable[[], Any], least: int) -> list[Any]:
        self.take(MARK, b"[")
        found: list[Any] = []
        if self.next() == b"]" and least == 0:
            self.take(MARK, b"]")
            return found
        while True:
            found.append(item())
            if self.take(MARK, b",]") == b"]":
                return found

    def number(self) -> float:
        return number(self.take(VALUE))

    def numbers(self) -> list[float]:
        return self.listing(self.number, 1)

    def value(self, kind: str) -> Any:
        if kind == "table":
            rows = self.listing(self.numbers, 0)
            return plain(rows, len({len(row) for row in rows}) < 2)
        if kind in ("window", "windows", "either"):
            self_at = self.at
            self.take(MARK, b"[")
            several = self.next() == b"["
            self.at = self_at
            found = self.listing(self.numbers, 1) if several else [self.numbers()]
            fits = kind == "either" or several == (kind == "windows")
            return plain(found, fits and all(len(w) == 2 for w in found))
        token = self.take(VALUE)
        if kind == "skip":
            return passed(token)
        if token == b"null" and kind in ("text", "number"):
            return None
        if kind == "number":
            return number(token)
        if kind == "id" and token[:1] != b'"':
            return int(plain(token, WHOLE.fullmatch(token) is not None))
        return word(token)

    def record(self, shape: Shape) -> dict[str, Any]:
        self.take(MARK, b"{")
        kinds, found = dict(shape.fields), dict[str, Any]()
        if self.next() == b"}":
            self.take(MARK, b"}")
        else:
            while True:
                key = self.take(KEY)[1:-1].decode()
                plain(key, key not in found and (key in kinds or shape.others))
                self.take(MARK, b":")
                found[key] = self.value(kinds.get(key, "skip"))
                if self.take(MARK, b",}") == b"}":
                    break
        needed = {key for key, kind in shape.fields if kind not in ("word", "text", "number", "skip")}
        return plain(found, needed <= found.keys())


def plain(value: T, is_so: bool) -> T:
    if not is_so:
        raise NotPlain
    return value


def number(token: bytes) -> float:
    value = float(plain(token, token[:1] not in b'"tfn'))
    return plain(value, math.isfinite(value))


def word(token: bytes) -> str:
    """A text that is kept: as JSON reads it, of bearable length, no half characters."""
    plain(token, token[:1] == b'"' and len(token) <= LONGEST_CAPTION + 2)
    try:
        text: str = json.loads(token)
    except UnicodeDecodeError:
        raise NotPlain from None
    return plain(text, encodable(text))


def passed(token: bytes) -> None:
    if token[:1] not in b'"tfn':
        number(token)
    try:
        token.decode()
    except UnicodeDecodeError:
        raise NotPlain from None


def read_python(text: Buffer, at: int, end: int, lines: bool, shape: Shape) -> Read:
    """The specification of the kernel."""
    scanner, newlines, ended = Scanner(text, at, end, BLANKS[lines]), 0, False
    found: list[dict[str, Any]] = []
    while not ended:
        scanner.pass_blank()
        while lines and scanner.next() == b"\n":
            newlines, scanner.at = newlines + 1, scanner.at + 1
            scanner.pass_blank()
        at = scanner.at
        if lines and at == end:
            ended = True
            break
        try:
            record = scanner.record(shape)
            if lines:
                plain(record, scanner.next() in (b"\n", b""))
            else:  # white space behind the comma is passed over with the next record
                ended = scanner.take(MARK, b",]") == b"]"
        except NotPlain:
            break
        found.append(record)
        at = scanner.at
    return Read(at, ended, newlines, len(found), [column(found, key, kind) for key, kind in shape.fields])


def column(found: Sequence[dict[str, Any]], key: str, kind: str) -> Any:
    if kind == "skip":
        return None
    values: list[Any] = [record.get(key) for record in found]
    if kind in ("id", "name", "word", "text"):
        return values
    if kind == "number":
        return np.array([math.nan if v is None else v for v in values], dtype=np.float64)
    if kind == "table":
        shapes = [(len(t), len(t[0]) if t else 0) for t in values]
        numbers = [x for table in values for row in table for x in row]
        return np.array(numbers, dtype=np.float64), np.array(shapes, dtype=np.int64).reshape(-1, 2)
    spans = np.array([w for windows in values for w in windows], dtype=np.float64).reshape(-1, 2)
    return spans, np.array([len(windows) for windows in values], dtype=np.int64)


def extent(text: Buffer, at: int, end: int) -> int:
    """Where the value that begins at `at` ends, by brackets and quotes alone; -1 where the text ends before."""
    kernels = native()
    return extent_python(text, at, end) if kernels is None else int(kernels.extent(text, at, end))


def extent_python(text: Buffer, at: int, end: int) -> int:
    """The specification of the kernel."""
    depth = 0
    for found in BRACKETS.finditer(text, at, end):
        token = found.group()
        if token == b'"':
            return -1
        if token in b"[{":
            depth += 1
        elif token in b"]}":
            if depth == 0:
                return found.start()
            depth -= 1
        elif token[:1] != b'"':
            if depth == 0:
                return found.start()  # behind a number or a word
            continue
        if depth == 0:
            return found.end()
    return -1


class Text:
    """A file as a text that slides: what was read is forgotten, and a NUL follows what is there."""

    def __init__(self, path: Path, stream: IO[bytes], chunk: int = CHUNK) -> None:
        self.path, self.stream, self.chunk = path, stream, chunk
        self.data = bytearray(2 * chunk + 1)
        self.at = self.end = 0
        self.over = False  # nothing more will come

    def more(self) -> None:
        """Read on, behind what is still needed."""
        left = self.data[self.at : self.end]
        if len(left) + self.chunk >= len(self.data):
            self.data = bytearray(2 * (len(left) + self.chunk) + 1)
        self.data[: len(left)] = left
        self.at, self.end = 0, len(left)
        with memoryview(self.data) as view, view[self.end : len(self.data) - 1] as room, failures_named(self.path):
            got = self.stream.readinto(room)  # type: ignore[attr-defined]
        self.over = not got
        self.end += got
        self.data[self.end] = 0

    def slice(self, stop: int) -> bytes:
        """Up to `stop`, passed over."""
        found = bytes(self.data[self.at : stop])
        self.at = stop
        return found


def line_records(path: Path, shape: Shape, chunk: int = CHUNK) -> Iterator[Records | Odd]:
    """A file of JSON lines: runs of plain records, and the lines between them that are not."""
    return ahead(line_runs(path, shape, chunk))


def line_runs(path: Path, shape: Shape, chunk: int) -> Iterator[Records | Odd]:
    number = 1
    with opened(path) as stream:
        text = Text(path, stream, chunk)
        while not text.over:
            text.more()
            whole = text.end if text.over else text.data.rfind(b"\n", text.at, text.end) + 1
            held, text.data[whole] = text.data[whole], 0
            while text.at < whole:
                found = read(text.data, text.at, whole, True, shape)
                number, text.at = number + found.newlines, found.stop
                if found.n:
                    yield Records(found.n, named(shape, found.columns))
                if not found.ended:
                    stop = text.data.find(b"\n", text.at, whole)
                    yield Odd(number, text.slice(whole if stop < 0 else stop + 1))
                    number += stop >= 0
            text.data[whole] = held


def named(shape: Shape, columns: Sequence[Any]) -> dict[str, Any]:
    return {key: column for (key, _), column in zip(shape.fields, columns, strict=True)}


class Broken(Exception):  # noqa: N818  (never leaves this file)
    """The document is not what it began as."""


class Document(Text):
    """A JSON document as a stream: the members of its root, and the records of the lists among them."""

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
        while (stop := extent(self.data, self.at, self.end)) < 0:
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
        seen = set[str]()
        ended = self.peek() == b"}"
        self.at += ended
        while not ended:
            key = self.value() if self.peek() == b'"' else None
            if key is None or key in seen:
                raise Broken
            seen.add(key)
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
            found = read(self.data, self.at, self.end, False, shape)
            place, self.at, ended = place + found.n, found.stop, found.ended
            if found.n:
                yield Records(found.n, named(shape, found.columns))
            if ended:
                return
            if not self.over:  # is it odd, or only cut off?
                stop = extent(self.data, self.at, self.end)
                if stop < 0 or self.end - stop < NEAR:
                    self.more()
                    continue
            yield Odd(place, self.raw())
            place, ended = place + 1, self.take(b",]") == b"]"


def members(path: Path, lists: Sequence[str], shape: Shape, chunk: int = CHUNK) -> Iterator[tuple[str, Any]]:
    """The root's members, streamed: (key, value); of the lists named, (key, BEGINS), then (key, Records or Odd) …"""
    try:
        with opened(path) as stream:
            document = Document(path, stream, chunk)
            for key in document.members():
                if key in lists and document.peek() == b"[":
                    yield key, BEGINS
                    for some in document.records(shape):
                        yield key, some
                else:
                    yield key, document.value()
    except Broken:
        load_json(path)  # says what is wrong, and where
        raise InputError("the file cannot be read as a stream", file=path, hint="is it being written?") from None


def line_object(odd: Odd, path: Path) -> list[tuple[int, Any]]:
    """The object of an odd line with its number; nothing where the line is blank."""
    return objects(odd.text, path, odd.place - 1)
