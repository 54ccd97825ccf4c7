"""How a file begins, looked at once: what formats are known by. Each part is read when it is first asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabula._kernels import native
from fabula.documents.files import has_lines, load_json, open_cursor, parse_document, read_objects, read_root
from fabula.documents.safe_open import open_bytes, read_bytes

if TYPE_CHECKING:
    from fabula.documents.columns import Plain

SIZE = 1 << 16  # bytes looked at
LISTS = ("annotations", "results", "regions")  # the lists of a COCO-like object that hold its entries
BEFORE = {"info", "images", "licenses", "type", "version", "external_data", "opt", "id", "image_id", "width", "height"}


class Head:
    """The beginning of one file, or of a document that is in memory already."""

    def __init__(self, path: Path) -> None:
        self.path, self.lines = path, has_lines(path)
        self.held: list[bytes] = []  # what was read of it and is not needed any more once there is a document

    @classmethod
    def of_document(cls, document: Any, name: str) -> Head:
        """Of a document that nobody has to read; `name` is what messages call it."""
        head = cls(Path(name))
        head.lines = False
        head.__dict__["document"] = document
        return head

    @cached_property
    def text(self) -> str:
        """The first 64 KB."""
        return read_head(self.path)

    @cached_property
    def first_object(self) -> Mapping[str, Any]:
        """The first line's object; of a line longer than what is looked at, the keys up to there. Nothing but lines."""
        return parse_first_object(self.text.lstrip()) if self.lines else {}

    @cached_property
    def root(self) -> tuple[str, list[str]]:
        """`[` and the keys of the first element, `{` and the root's own keys; of lines, `{` and the first line's."""
        if not self.lines:
            return read_root(self.path)
        return "{", list(self.sample) if isinstance(self.sample, dict) else []

    @cached_property
    def stream(self) -> Iterator[tuple[int, Any]]:
        """The numbered objects of a file of lines, once; `sample` has looked at the first of them."""
        return chain(self._first, self._rest)

    @cached_property
    def document(self) -> Any:
        """The whole document."""
        return parse_document(self.held, self.path) if self.held else load_json(self.path)

    @cached_property
    def plain(self) -> Plain | None:
        """The same as columns, where it is a document of stories and plain."""
        if native() is None:
            return None
        from fabula.documents.columns import guess_kinds, read_plain

        self.held.append(read_bytes(self.path))
        return read_plain(self.held[0], guess_kinds(self.held[0]))

    @cached_property
    def sample(self) -> Any:
        """What a format of documents is known by: the document; of lines, the first line's object, {} without any."""
        if not self.lines:
            return self.document
        return self._first[0][1] if self._first else {}

    @cached_property
    def first_entry(self) -> Mapping[str, Any]:
        """The first object of a file of lines, of a list, or of the list that a COCO-like object has; else nothing."""
        if self.lines:
            return self.sample if isinstance(self.sample, dict) else {}
        return read_first_entry(self.path)

    @cached_property
    def columns(self) -> list[str]:
        """What the first row of a table names."""
        if self.path.suffix.lower() == ".xlsx":
            from fabula.documents.sheets import read_table

            return list(next(iter(read_table(self.path)), {}))
        return [name.strip('"') for name in self.text.partition("\n")[0].replace("\t", ",").strip().split(",")]

    @property
    def empty(self) -> bool:
        """A file of lines without a line."""
        return self.lines and not self._first

    @cached_property
    def _rest(self) -> Iterator[tuple[int, Any]]:
        return read_objects(self.path)

    @cached_property
    def _first(self) -> list[tuple[int, Any]]:
        return list(islice(self._rest, 1))


def read_head(path: Path) -> str:
    """The first 64 KB of a file as text."""
    with open_bytes(path) as stream:
        return stream.read(SIZE).decode("utf-8-sig", errors="replace")


def parse_first_object(text: str) -> dict[str, Any]:
    line = text.partition("\n")[0]
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):  # cut off, broken, or nested without end: its reader says which
        return dict.fromkeys(key for k in find_top_keys(line) if (key := decode_key(k)) is not None)
    return found if isinstance(found, dict) else {}


def decode_key(spelled: str) -> str | None:
    """A key as JSON reads it; None where it is none."""
    try:
        return str(json.loads(f'"{spelled}"'))
    except ValueError:
        return None


def find_top_keys(line: str) -> list[str]:
    """The keys of an object that is cut off: names before a colon at depth 1."""
    keys, depth, at, last = [], 0, 0, ""
    while at < len(line):
        c = line[at]
        if c == '"':
            end = at + 1
            while end < len(line) and line[end] != '"':
                end += 2 if line[end] == "\\" else 1
            last, at = line[at + 1 : end], end
        elif c in "[{":
            depth += 1
        elif c in "]}":
            depth -= 1
        elif c == ":" and depth == 1:
            keys.append(last)
        at += 1
    return keys


def read_first_entry(path: Path) -> Mapping[str, Any]:
    entry: Any = {}
    with open_cursor(path) as cursor:
        if cursor.peek() == "[":
            entry = next(cursor.elements(), {})
        elif cursor.peek() == "{":
            for key in cursor.members():
                if key in LISTS and cursor.peek() == "[":
                    first: Any = next(cursor.elements(), {})
                    entry = {key: None} | (first if isinstance(first, dict) else {})
                    break
                if key not in BEFORE:
                    break
                cursor.value()
    return entry if isinstance(entry, dict) else {}
