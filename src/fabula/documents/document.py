"""What a file, a folder or an object holds, without saying where it came from.

A document is made by `open_document(path)` or by `wrap(object)` (documents/objects.py), and by nothing else. What
formats are known by (how it begins) is looked at once; each part is read when it is first asked for.
"""

from __future__ import annotations

import io
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabula._kernels import native
from fabula.documents.files import (
    LINES,
    PARQUET,
    SUBTITLES,
    TABLES,
    check_path,
    find_parts,
    open_cursor,
    parse_document,
    read_lines,
    read_objects,
    read_root,
)
from fabula.documents.safe_open import open_bytes, read_bytes

if TYPE_CHECKING:
    from fabula.documents.columns import Plain

SIZE = 1 << 16  # bytes looked at
LISTS = ("annotations", "results", "regions")  # the lists of a COCO-like object that hold its entries
BEFORE = {"info", "images", "licenses", "type", "version", "external_data", "opt", "id", "image_id", "width", "height"}


class Document(ABC):
    """What is read, and what messages call it."""

    name: str  # what messages call it: the path as it was named, or "predictions given as a dict"
    filename: str  # what its file is called, or would be: its ending says what it holds

    def __str__(self) -> str:
        return self.name

    @property
    def ending(self) -> str:
        """.json, .jsonl, .csv …, without .gz."""
        return Path(self.filename.removesuffix(".gz")).suffix.lower()

    @property
    def lines(self) -> bool:
        """JSON Lines; anything else is one document, a table or a folder."""
        return self.filename.endswith(LINES)

    @property
    def is_table(self) -> bool:
        """A table with a head (documents/tables.py)."""
        return Path(self.filename).suffix.lower() in TABLES

    @property
    def is_parquet(self) -> bool:
        return self.filename.endswith(PARQUET)

    @property
    def is_folder(self) -> bool:
        return False

    @property
    def is_subtitles(self) -> bool:
        """Text of one film with times (io/subtitles)."""
        return self.filename.lower().endswith(SUBTITLES)

    @property
    def holds_only_stories(self) -> bool:
        """Parquet and folders hold Fabula's own stories or subtitles, and nothing else."""
        return self.is_parquet or self.is_folder or self.is_subtitles

    @property
    def is_lasting(self) -> bool:
        """True where it can be read more than once: of files, those that are no pipe."""
        return True

    @property
    def unit(self) -> str:
        """What an entry is called."""
        return "row" if self.is_parquet else "line"

    def place(self, number: int) -> str:
        """Where the entry of this number stands; entries are counted from 1."""
        return f"{self.unit} {number}"

    def parts(self) -> tuple[list[Document], list[str]]:
        """The files of a folder, and the names of those that are skipped; anything else is its only part."""
        return [self], []

    # ── how it begins ───────────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def text(self) -> str:
        """The first 64 KB."""
        with self.stream() as stream:
            return stream.read(SIZE).decode("utf-8-sig", errors="replace")

    @cached_property
    def first_object(self) -> Mapping[str, Any]:
        """The first line's object; of a line longer than what is looked at, the keys up to there. Nothing but lines."""
        return parse_first_object(self.text.lstrip()) if self.lines else {}

    @cached_property
    def root(self) -> tuple[str, list[str]]:
        """`[` and the keys of the first element, `{` and the root's own keys; of lines, `{` and the first line's."""
        if not self.lines:
            return read_root(self)
        return "{", list(self.sample) if isinstance(self.sample, dict) else []

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
        return read_first_entry(self)

    @cached_property
    def header(self) -> list[str]:
        """What the first row of a table names."""
        if self.ending == ".xlsx":
            from fabula.documents.tables import read_rows

            return list(next(read_rows(self, loose=True), {}))
        return [name.strip('"') for name in self.text.partition("\n")[0].replace("\t", ",").strip().split(",")]

    @property
    def empty(self) -> bool:
        """A file of lines without a line."""
        return self.lines and not self._first

    @cached_property
    def _rest(self) -> Iterator[tuple[int, Any]]:
        return self.numbered()

    @cached_property
    def _first(self) -> list[tuple[int, Any]]:
        return list(islice(self._rest, 1))

    # ── what it holds ───────────────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def stream(self) -> io.BufferedReader:
        """Its bytes, as a file has them."""

    @cached_property
    def document(self) -> Any:
        """The whole document, as JSON has it."""
        return parse_document([self.raw()], self)

    def tree(self) -> Any:
        """The same; a file that nobody has read yet is parsed, and not remembered."""
        return self.__dict__["document"] if "document" in self.__dict__ else parse_document([self.raw()], self)

    def raw(self) -> bytes:
        """All of its bytes, for the kernel; refused where they would not fit."""
        return read_bytes(self)

    def columns(self, kinds: Sequence[str] = ()) -> Plain | None:
        """Its stories as columns, where it is a document of stories (of these kinds) and plain; else it is parsed."""
        if native() is None:
            return None
        from fabula.documents.columns import guess_kinds, read_plain

        held = [self.raw()]
        found = read_plain(held[0], kinds or guess_kinds(held[0]))
        if found is None and "document" not in self.__dict__:
            self.__dict__["document"] = parse_document(held, self)
        return found

    def texts(self) -> Iterator[tuple[str, str]]:
        """Lines of text and their places, streamed; blank lines are skipped."""
        return ((self.place(number), text) for number, text in read_lines(self))

    def numbered(self) -> Iterator[tuple[int, Any]]:
        """The entries of lines, or of Parquet, counted from 1; streamed."""
        return read_objects(self)

    def entries(self) -> Iterator[tuple[str, Any]]:
        """The same with their places."""
        return ((self.place(number), entry) for number, entry in self.numbered())

    def rest(self) -> Iterator[tuple[int, Any]]:
        """What `numbered` gives, once; `sample` has looked at the first of them. A pipe is read no second time."""
        return chain(self._first, self._rest)


class FileDocument(Document):
    """A file, or a folder of them."""

    def __init__(self, path: Path) -> None:
        self.path, self.name, self.filename = path, str(path), path.name

    @property
    def is_folder(self) -> bool:
        return self.path.is_dir()

    @property
    def is_lasting(self) -> bool:
        return self.path.is_file()

    def parts(self) -> tuple[list[Document], list[str]]:
        found, skipped = find_parts(self.path)
        return [self if file == self.path else FileDocument(file) for file in found], skipped

    def stream(self) -> io.BufferedReader:
        return open_bytes(self.path)

    def raw(self) -> bytes:
        return read_bytes(self.path)

    def numbered(self) -> Iterator[tuple[int, Any]]:
        if not self.is_parquet:
            return super().numbered()
        from fabula.documents.parquet import read_rows

        return read_rows(self.path, self.path)


class BytesDocument(Document):
    """Bytes that came from elsewhere, such as standard input."""

    def __init__(self, data: bytes, name: str, ending: str) -> None:
        self.data, self.name, self.filename = data, name, name + ending

    def stream(self) -> io.BufferedReader:
        return io.BufferedReader(io.BytesIO(self.data))

    def raw(self) -> bytes:
        return self.data


class ObjectDocument(Document):
    """An object, as JSON has it: a list of entries that are lines, or one document."""

    def __init__(self, value: Any, name: str, ending: str) -> None:
        self.value, self.name = value, name
        self.filename = f"{name}{ending}"
        if ending != ".jsonl":
            self.__dict__["document"] = value

    def place(self, number: int) -> str:
        """Entries are counted from 0, as Python does, where lines of files are from 1."""
        return f"[{number - 1}]"

    def numbered(self) -> Iterator[tuple[int, Any]]:
        return enumerate(self.value, 1)

    def pieces(self) -> Iterator[bytes]:
        """Its text, an entry at a time."""
        if self.lines:
            return (json.dumps(entry).encode() + b"\n" for entry in self.value)
        return (text.encode() for text in encode_pieces(self.value))

    def raw(self) -> bytes:
        return b"".join(self.pieces())

    def stream(self) -> io.BufferedReader:
        return io.BufferedReader(Pieces(self.pieces()), 1 << 18)


class Pieces(io.RawIOBase):
    """A stream of bytes that are made as they are read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.coming, self.left = pieces, b""

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        while not self.left:
            fresh = next(self.coming, None)
            if fresh is None:
                return 0
            self.left = fresh
        n = min(len(room), len(self.left))
        room[:n], self.left = self.left[:n], self.left[n:]
        return n


def encode_pieces(value: Any, deep: bool = True) -> Iterator[str]:
    """JSON in pieces: the elements of a long list, or of the lists of an object, one by one."""
    if isinstance(value, dict) and deep:
        yield "{"
        for n, (key, inner) in enumerate(value.items()):
            yield f"{', ' if n else ''}{json.dumps(key)}: "
            yield from encode_pieces(inner, deep=False)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for n, inner in enumerate(value):
            yield (",\n" if n else "") + json.dumps(inner)
        yield "]"
    else:
        yield json.dumps(value)


def open_document(file: str | Path | Document) -> Document:
    """The document of a path; nothing is read yet. A document is its own."""
    return file if isinstance(file, Document) else FileDocument(check_path(file))


# ── how files begin ─────────────────────────────────────────────────────────────────────────────────────────────────


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


def read_first_entry(document: Document) -> Mapping[str, Any]:
    entry: Any = {}
    with open_cursor(document) as cursor:
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
