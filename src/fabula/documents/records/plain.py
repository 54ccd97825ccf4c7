"""Records of a text as columns, by the kernel, and the Python that says what the kernel does.

A record is an object whose fields are asked for by name and kind. The kernel stops before a record that is not plain
(a field missing, a text where a number should be, a key twice, no JSON at all).

kinds   id       a whole number or text         → list
        name     text · word  may be absent · text  may be absent or null → list, None where it is
        number   may be absent or null          → [R], NaN where it is
        window   [start, end] · windows  a list of them · either → [W, 2], and how many each record has [R]
        table    rows of equally many numbers   → all numbers end to end, and the tables' shapes [R, 2]
        numbers  a list of them · wholes  of whole ones from 0 on → all end to end, and how many each record has [R]
        skip     any text, number, true, false or null → nothing
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fabula._kernels import native
from fabula.documents.fields import LONGEST_CAPTION, is_encodable

T = TypeVar("T")
LISTS = ("numbers", "wholes")
KINDS = frozenset(["id", "name", "word", "text", "number", "window", "windows", "either", "table", "skip", *LISTS])
Buffer = bytes | bytearray

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


def scan_records(text: Buffer, at: int, end: int, lines: bool, shape: Shape) -> Read:
    """The plain records of text[at:end], which a NUL follows: one per line, or the elements of a list from here on."""
    kernels = native()
    if kernels is None:
        return scan_records_python(text, at, end, lines, shape)
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
        return parse_number(self.take(VALUE))

    def whole(self) -> int:
        token = self.take(VALUE)
        found = int(require(token, WHOLE.fullmatch(token) is not None))
        return require(found, found >= 0)

    def numbers(self) -> list[float]:
        return self.listing(self.number, 1)

    def value(self, kind: str) -> Any:
        if kind == "table":
            rows = self.listing(self.numbers, 0)
            return require(rows, len({len(row) for row in rows}) < 2)
        if kind in LISTS:
            return self.listing(self.number if kind == "numbers" else self.whole, 0)
        if kind in ("window", "windows", "either"):
            self_at = self.at
            self.take(MARK, b"[")
            several = self.next() == b"["
            self.at = self_at
            found = self.listing(self.numbers, 1) if several else [self.numbers()]
            fits = kind == "either" or several == (kind == "windows")
            return require(found, fits and all(len(w) == 2 for w in found))
        token = self.take(VALUE)
        if kind == "skip":
            return pass_over(token)
        if token == b"null" and kind in ("text", "number"):
            return None
        if kind == "number":
            return parse_number(token)
        if kind == "id" and token[:1] != b'"':
            return int(require(token, WHOLE.fullmatch(token) is not None))
        return parse_word(token)

    def record(self, shape: Shape) -> dict[str, Any]:
        self.take(MARK, b"{")
        kinds, found = dict(shape.fields), dict[str, Any]()
        if self.next() == b"}":
            self.take(MARK, b"}")
        else:
            while True:
                key = self.take(KEY)[1:-1].decode()
                require(key, key not in found and (key in kinds or shape.others))
                self.take(MARK, b":")
                found[key] = self.value(kinds.get(key, "skip"))
                if self.take(MARK, b",}") == b"}":
                    break
        needed = {key for key, kind in shape.fields if kind not in ("word", "text", "number", "skip")}
        return require(found, needed <= found.keys())


def require(value: T, is_so: bool) -> T:
    if not is_so:
        raise NotPlain
    return value


def parse_number(token: bytes) -> float:
    value = float(require(token, token[:1] not in b'"tfn'))
    return require(0.0 if token == b"-0" else value, math.isfinite(value))  # a whole zero has no sign


def parse_word(token: bytes) -> str:
    """A text that is kept: as JSON reads it, of reasonable length, no half characters."""
    require(token, token[:1] == b'"' and len(token) <= LONGEST_CAPTION + 2)
    try:
        text: str = json.loads(token)
    except UnicodeDecodeError:
        raise NotPlain from None
    return require(text, is_encodable(text))


def pass_over(token: bytes) -> None:
    if token[:1] not in b'"tfn':
        parse_number(token)
    try:
        token.decode()
    except UnicodeDecodeError:
        raise NotPlain from None


def scan_records_python(text: Buffer, at: int, end: int, lines: bool, shape: Shape) -> Read:
    """The specification of the kernel."""
    check_span(text, at, end)
    check_shape(shape)
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
                require(record, scanner.next() in (b"\n", b""))
            else:  # white space behind the comma is passed over with the next record
                ended = scanner.take(MARK, b",]") == b"]"
        except NotPlain:
            break
        found.append(record)
        at = scanner.at
    return Read(at, ended, newlines, len(found), [build_column(found, key, kind) for key, kind in shape.fields])


def check_span(text: Buffer, at: int, end: int) -> None:
    if not 0 <= at <= end < len(text) or text[end]:
        raise ValueError("the text must end in NUL")


def check_shape(shape: Shape) -> None:
    keys = [key for key, _ in shape.fields]
    if wrong := {kind for _, kind in shape.fields} - KINDS:
        raise ValueError(f"no kind of field is called {min(wrong)}")
    if len(set(keys)) < len(keys):
        raise ValueError("a field is asked for twice")


def build_column(found: Sequence[dict[str, Any]], key: str, kind: str) -> Any:
    if kind == "skip":
        return None
    values: list[Any] = [record.get(key) for record in found]
    if kind in ("id", "name", "word", "text"):
        return values
    if kind == "number":
        return np.array([math.nan if v is None else v for v in values], dtype=np.float64)
    if kind in LISTS:
        listed = [x for some in values for x in some]
        real = np.float64 if kind == "numbers" else np.int64
        return np.array(listed, dtype=real), np.array([len(some) for some in values], dtype=np.int64)
    if kind == "table":
        shapes = [(len(t), len(t[0]) if t else 0) for t in values]
        numbers = [x for table in values for row in table for x in row]
        return np.array(numbers, dtype=np.float64), np.array(shapes, dtype=np.int64).reshape(-1, 2)
    spans = np.array([w for windows in values for w in windows], dtype=np.float64).reshape(-1, 2)
    return spans, np.array([len(windows) for windows in values], dtype=np.int64)


def find_extent(text: Buffer, at: int, end: int) -> int:
    """Where the value that begins at `at` ends, by brackets and quotes alone; -1 where the text ends before."""
    kernels = native()
    return find_extent_python(text, at, end) if kernels is None else int(kernels.extent(text, at, end))


def find_extent_python(text: Buffer, at: int, end: int) -> int:
    """The specification of the kernel."""
    check_span(text, at, end)
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
