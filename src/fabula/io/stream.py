"""The elements of a long JSON list one at a time: the file is read in pieces, and only an element of it is kept."""

from __future__ import annotations

import codecs
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError, shown
from fabula.io._files import DECODER, WIDE, TwiceError, failures_named, parse_json

PIECE = 1 << 20  # bytes
BLANKS = " \t\r\n"
ENDS = set(f",:]}}{BLANKS}")  # what may follow a value


class Reader:
    """A cursor in the text of a JSON file."""

    def __init__(self, path: Path, raw: Any, piece: int = PIECE) -> None:
        self.path, self.raw, self.piece = path, raw, piece
        self.decode = codecs.getincrementaldecoder("utf-8-sig")()
        self.text, self.at = "", 0
        self.lines = 0  # newlines before `text`
        self.bytes = 0  # read so far
        self.ended = False

    def more(self, size: int) -> None:
        """Forget what has been read; read on."""
        data = self.raw.read(size)
        self.ended = not data
        try:
            fresh = self.decode.decode(data, self.ended)
        except UnicodeDecodeError as error:
            at = self.bytes + len(data) - len(error.object) + error.start  # a character may begin in the piece before
            problem = f"byte {at} ({error.object[error.start]:#04x}) is not UTF-8"
            if not self.bytes and data.startswith(WIDE):
                problem = "this is UTF-16 or UTF-32, not UTF-8"
            raise InputError(problem, file=self.path, hint="save the file as UTF-8") from None
        self.bytes += len(data)
        self.lines += self.text.count("\n", 0, self.at)
        self.text, self.at = self.text[self.at :] + fresh, 0

    def peek(self) -> str:
        """The next character that is no blank, "" at the end; the cursor stands on it."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in BLANKS:
                self.at += 1
            if self.at < len(self.text) or self.ended:
                return self.text[self.at : self.at + 1]
            self.more(self.piece)

    def take(self, wanted: str) -> str:
        """The next character, which must be one of these."""
        found = self.peek()
        if not found or found not in wanted:
            raise self.unexpected(" or ".join(wanted))
        self.at += 1
        return found

    def value(self) -> Any:
        """The next value, whole."""
        self.peek()
        size = self.piece
        while True:
            try:
                value, end = DECODER.raw_decode(self.text, self.at)
                if self.ended or self.text[end : end + 1] in ENDS:  # a number may go on in the next piece
                    self.at = end
                    return value
            except (json.JSONDecodeError, TwiceError, RecursionError, ValueError) as error:
                if self.ended or not isinstance(error, json.JSONDecodeError):
                    raise self.broken() from None
            self.more(size)
            size *= 2

    def broken(self) -> InputError:
        """What is wrong here, in the words that a file read at once would get."""
        try:
            parse_json(self.text[self.at :], self.path)
        except InputError as error:
            return InputError(error.problem, file=self.path, field=f"{self.place()} and on", hint=error.hint)
        return self.unexpected("a value")

    def unexpected(self, wanted: str) -> InputError:
        if not self.peek():
            hint = "the file is truncated: write it again"
            return InputError("the JSON ends too early", file=self.path, field=self.place(), hint=hint)
        problem = f"expected {wanted}, saw {shown(self.text[self.at : self.at + 10])}"
        return InputError(problem, file=self.path, field=self.place(), hint="mend the file there")

    def place(self) -> str:
        return f"line {self.lines + 1 + self.text.count(chr(10), 0, self.at)}"

    def elements(self) -> Iterator[Any]:
        """The elements of the list that begins here."""
        self.take("[")
        if self.peek() == "]":
            self.at += 1
            return
        while True:
            yield self.value()
            if self.take(",]") == "]":
                return

    def members(self) -> Iterator[str]:
        """The keys of the object that begins here; the caller reads each key's value before it asks for the next."""
        self.take("{")
        if self.peek() == "}":
            self.at += 1
            return
        seen = set[str]()
        while True:
            if self.peek() != '"':
                raise self.unexpected('"')
            key = self.value()
            if key in seen:
                hint = "keep one of the two; readers that take the last one lose the other in silence"
                raise InputError(f"the key {key!r} stands twice in one object", file=self.path, hint=hint)
            seen.add(key)
            self.take(":")
            yield key
            if self.take(",}") == "}":
                return

    def end(self) -> None:
        """Nothing may follow the document."""
        if self.peek():
            raise InputError("not JSON (Extra data)", file=self.path, hint="a file holds one document")


def opened(path: Path, piece: int = PIECE) -> Iterator[Reader]:
    """A reader while it is in use: `for reader in opened(path)`."""
    with failures_named(path), gzip.open(path) if path.suffix == ".gz" else path.open("rb") as raw:
        yield Reader(path, raw, piece)


def elements(path: Path, key: str | None = None, piece: int = PIECE) -> Iterator[Any]:
    """The elements of the root list, or of the list under this key of the root object, streamed."""
    for reader in opened(path, piece):
        if key is None:
            yield from reader.elements()
        else:
            for member in reader.members():
                if member == key and reader.peek() == "[":
                    yield from reader.elements()
                else:
                    reader.value()
        reader.end()


def beginning(path: Path) -> tuple[str, list[str]]:
    """How a file begins: `[` and the keys of its first element, or `{` and the root's own keys."""
    for reader in opened(path):
        first = reader.peek()
        if first == "[":
            head: Any = next(reader.elements(), {})
            return first, list(head) if isinstance(head, dict) else []
        if first == "{":
            keys = []
            for member in reader.members():
                keys.append(member)
                if reader.peek() == "[":
                    break  # a long list: what it is called says enough
                reader.value()
            return first, keys
        if not first:
            raise InputError("the file is empty", file=path, hint="it should hold a JSON document")
        raise reader.broken()
    return "", []
