"""Records of a text as columns, by the kernel; its specification stands in tests/twins/records.py.

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
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from fabula._kernels import native

Buffer = bytes | bytearray

BLANKS = {True: re.compile(rb"[ \t\r]*+"), False: re.compile(rb"[ \t\r\n]*+")}  # in lines, elsewhere
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
    newlines: int  # skipped
    n: int
    columns: list[Any]


def scan_records(text: Buffer, at: int, end: int, lines: bool, shape: Shape) -> Read:
    """The plain records of text[at:end], which a NUL follows: one per line, or the elements of a list from here on."""
    kernels = native()
    if kernels is None:
        return Read(at, at == end, 0, 0, [])  # nothing is plain: each is parsed by the standard library
    return Read(*kernels.records(text, at, end, lines, shape.fields, shape.others, json.loads))


def find_extent(text: Buffer, at: int, end: int) -> int:
    """Where the value that begins at `at` ends, by brackets and quotes alone; -1 where the text ends before."""
    kernels = native()
    return find_extent_python(text, at, end) if kernels is None else int(kernels.extent(text, at, end))


def check_span(text: Buffer, at: int, end: int) -> None:
    if not 0 <= at <= end < len(text) or text[end]:
        raise ValueError("the text must end in NUL")


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
