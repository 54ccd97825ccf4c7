"""Text in, bytes out: files written whole or not at all; and JSON as the standard library reads it.

JSON comes whole (`load_json`), line by line (`read_objects`), or as a stream of the elements of a long list
(`read_elements`, `open_cursor`). A key that stands twice in one object is refused, and a fault is named with its place.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import gc
import gzip
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast, overload

from fabula.core.errors import FabulaError, InputError, shown
from fabula.documents.safe_open import (
    STREAM,
    check_decoded,
    check_held,
    check_parsed,
    name_failures,
    open_bytes,
    read_bytes,
)

if TYPE_CHECKING:
    from fabula.documents.safe_open import File

LINES = (".jsonl", ".jsonl.gz")  # how files of JSON Lines end
TABLES = (".csv", ".tsv", ".xlsx")
PARQUET = ".parquet"
PARTS = (*LINES, PARQUET)  # what the files of a folder may be …
SUBTITLES = (".srt", ".vtt", ".srt.gz", ".vtt.gz")  # … or these, a file a film
PIECE = 1 << 20  # bytes of a stream read at a time
CHUNK = 4 << 20  # the same, then
BLANKS = " \t\r\n"
PASSED = re.compile(f"[{BLANKS}]*+")
NEAR = 64  # characters: a fault so near to the end of a piece may only lack what follows
ENDS = set(f",:]}}{BLANKS}")  # what may follow a value
WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)  # UTF-32 LE begins as UTF-16 LE does

ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # an archive; an empty one


@overload
def check_path(path: str | Path) -> Path: ...


@overload
def check_path(path: str | File) -> File: ...


def check_path(path: str | File) -> File:
    """The path, unless no file can have it; a document is no path and stays what it is."""
    if not isinstance(path, str | Path):
        return path
    if "\0" in str(path):
        raise InputError("a path cannot hold a NUL character", file=shown(str(path)), hint="check the path")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise InputError("half a character in a path", file=shown(str(path)), hint="check the path") from None
    return path if isinstance(path, Path) else Path(path)


def check_absent(path: Path, overwrite: bool = False) -> None:
    """Refuse to write where something lies already, unless it may be replaced."""
    if path.exists() and not overwrite:
        raise InputError("exists already", file=path, hint="choose another name, or say --overwrite")


def words_of_name(name: str) -> list[str]:
    """The words of a file's name, in small letters."""
    return re.split(r"[^a-z0-9]+", name.lower())


def name_file(file: File) -> str:
    """What a file is called; of a document that is none, what it would be."""
    return file.name if isinstance(file, Path) else file.filename


def has_lines(file: File) -> bool:
    """A file is lines or one document by its ending."""
    return name_file(file).endswith(LINES)


@contextlib.contextmanager
def pause_collector() -> Iterator[None]:
    """No cyclic garbage collection inside: JSON makes no cycles, and walking it over and over is 40 % of reading it."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def decode_text(data: bytes, path: object, line: int | None = None) -> str:
    """UTF-8 as text; a byte order mark at the head of the file is skipped."""
    where = f"line {line}" if line else None
    check_decoded(path, data)
    try:
        return data.decode("utf-8-sig" if line in (None, 1) else "utf-8")
    except UnicodeDecodeError as error:
        raise name_bytes(path, data, error.start, data[error.start], where) from None


def name_bytes(path: object, data: bytes, at: int, byte: int, where: str | None = None) -> InputError:
    """What is wrong with a file that is no UTF-8, by how it begins."""
    if data.startswith(ZIP):
        return InputError("this is a .zip archive", file=path, hint="unpack it, and name the file that is in it")
    wide = data.startswith(WIDE)
    problem = "this is UTF-16 or UTF-32, not UTF-8" if wide else f"byte {at} ({byte:#04x}) is not UTF-8"
    return InputError(problem, file=path, field=where, hint="save the file as UTF-8")


def load_json(path: File) -> Any:
    """The document, with the place of the fault where it is not JSON."""
    return parse_document([read_bytes(path)], path)


def parse_document(held: list[bytes], path: object) -> Any:
    """The document of these bytes, which are taken out of the list: they need not stay while it is parsed."""
    text = decode_text(held.pop(), path)
    if not text or text.isspace():
        raise InputError("the file is empty", file=path, hint="it should hold a JSON document")
    return parse_json(text, path)


def build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; a key that stands twice is a fault, for readers that take the last lose the other."""
    found = dict(pairs)
    if len(found) < len(pairs):
        for key, _ in pairs:
            if key not in found:  # taken out below: here it stands for the second time
                raise TwiceError(key)
            del found[key]
    return found


class TwiceError(Exception):
    """The key that stands twice; parse_json adds the place."""


DECODER = json.JSONDecoder(object_pairs_hook=build_object)


def parse_json(text: str, path: object, line: int | None = None) -> Any:
    """JSON that refuses an object with one key twice. NaN and Infinity pass: the field check names them."""
    where = f"line {line}" if line else None
    check_parsed(path, text)
    try:
        return DECODER.decode(text)
    except TwiceError as error:
        raise InputError(
            f"the key {shown(error.args[0])} stands twice in one object",
            file=path,
            field=where,
            hint="keep one of the two; readers that take the last one lose the other in silence",
        ) from None
    except json.JSONDecodeError as error:
        at_end = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        what = "the JSON ends too early" if at_end else f"not JSON ({error.msg})"
        hint = "the file is truncated: write it again" if at_end else "mend the file there"
        if error.msg == "Extra data":
            hint = "a line holds one object" if line else "a file holds one document; JSON Lines end in .jsonl"
        place = where or f"line {error.lineno} column {error.colno}"
        raise InputError(what, file=path, field=place, hint=hint) from None
    except RecursionError:
        hint = "no format read here needs it"
        raise InputError("the JSON is nested too deeply", file=path, field=where, hint=hint) from None
    except ValueError as error:  # an integer of more than 4,300 digits
        problem = f"not a usable number ({str(error).split(':')[0]})"
        raise InputError(problem, file=path, field=where, hint="mend the file") from None
    except MemoryError:
        raise InputError("does not fit into memory", file=path, field=where, hint=STREAM) from None


def read_lines(path: File) -> Iterator[tuple[int, str]]:
    """Numbered lines of a text file, streamed; blank lines are skipped."""
    with open_bytes(path) as stream:
        for number, raw in enumerate(stream, 1):
            text = decode_text(raw, path, number).strip()
            if text:
                yield number, text


def read_objects(path: File) -> Iterator[tuple[int, Any]]:
    """The JSON objects of a .jsonl(.gz) file with their line numbers, streamed."""
    number, size = 0, 1  # the first line by itself: formats are known by it
    with open_bytes(path) as stream:
        while fresh := stream.read(size):
            fresh += stream.readline()
            yield from parse_lines(fresh, path, number)
            number, size = number + fresh.count(b"\n"), CHUNK


def parse_lines(text: bytes, path: object, before: int = 0) -> Iterator[tuple[int, Any]]:
    """The objects of some lines with their numbers, from `before` + 1; blank lines are skipped.

    They are read as one list, which is quicker; where that fails, one by one, to name the line.
    """
    numbered = [(n, line) for n, line in enumerate(text.split(b"\n"), before + 1) if line and not line.isspace()]
    try:
        found = parse_json(decode_text(b"[" + b",".join(line for _, line in numbered) + b"]", path, before + 2), path)
        if len(found) == len(numbered):
            yield from ((n, thing) for (n, _), thing in zip(numbered, found, strict=True))
            return
    except InputError:
        pass
    for n, line in numbered:
        if words := decode_text(line, path, n).strip():
            yield n, parse_json(words, path, n)


class LineBytes:
    """The bytes of a file of lines, some whole lines at a time, each time with the number of lines before them."""

    def __init__(
        self, path: File, named: Path | None = None, first: int = 0, last: int | None = None, before: int = 0
    ) -> None:
        self.path, self.named, self.first, self.last, self.before = path, named or path, first, last, before

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        with open_bytes(self.path, self.named if isinstance(self.named, Path) else None) as stream:
            if self.first:
                stream.seek(self.first)
            left = None if self.last is None else self.last - self.first
            before = self.before
            while block := stream.read(CHUNK if left is None else min(CHUNK, left)):
                if left is None or len(block) < left:
                    block += stream.readline()
                yield before, block
                before += block.count(b"\n")
                left = None if left is None else left - min(left, len(block))


class Cursor:
    """A cursor in the text of a long JSON file: it is read in pieces, and only the value at hand is kept."""

    def __init__(self, path: object, raw: Any, piece: int = PIECE) -> None:
        self.path, self.raw, self.piece = path, raw, piece
        self.decode = codecs.getincrementaldecoder("utf-8-sig")()
        self.text, self.at = "", 0
        self.lines = 0  # newlines before `text`
        self.bytes = 0  # read so far
        self.ended = False

    def more(self, size: int) -> None:
        """Forget what has been read; read on."""
        check_held(self.path, len(self.text) - self.at, "value")
        data = self.raw.read(size)
        self.ended = not data
        try:
            fresh = self.decode.decode(data, self.ended)
        except UnicodeDecodeError as error:
            at = self.bytes + len(data) - len(error.object) + error.start  # a character may begin in the piece before
            raise name_bytes(self.path, b"" if self.bytes else data, at, error.object[error.start]) from None
        self.bytes += len(data)
        self.lines += self.text.count("\n", 0, self.at)
        self.text, self.at = self.text[self.at :] + fresh, 0

    def peek(self) -> str:
        """The next character that is no blank, "" at the end; the cursor stands on it."""
        while True:
            self.at = cast("re.Match[str]", PASSED.match(self.text, self.at)).end()
            if self.at < len(self.text) or self.ended:
                return self.text[self.at : self.at + 1]
            self.more(self.piece)

    def take(self, wanted: str) -> str:
        """The next character, which must be one of these."""
        found = self.peek()
        if not found or found not in wanted:
            raise self.complain(" or ".join(wanted))
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
                if self.ended or not self.is_cut_off(error):
                    raise self.explain_fault() from None
            except MemoryError:
                raise InputError("does not fit into memory", file=self.path, hint=STREAM) from None
            self.more(size)
            size *= 2

    def is_cut_off(self, error: Exception) -> bool:
        """True where more text may mend it: what is cut off fails at the end, a text at its beginning."""
        if not isinstance(error, json.JSONDecodeError):
            return False
        return error.msg.startswith("Unterminated string") or error.pos > len(self.text) - NEAR

    def explain_fault(self) -> InputError:
        """What is wrong here, in the words that a file read at once would get."""
        try:
            parse_json(self.text[self.at :], self.path)
        except InputError as error:
            return InputError(error.problem, file=self.path, field=f"{self.place()} and on", hint=error.hint)
        return self.complain("a value")

    def complain(self, wanted: str) -> InputError:
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
        known_keys = set[str]()
        while True:
            if self.peek() != '"':
                raise self.complain('"')
            key = self.value()
            if key in known_keys:
                hint = "keep one of the two; readers that take the last one lose the other in silence"
                raise InputError(f"the key {key!r} stands twice in one object", file=self.path, hint=hint)
            known_keys.add(key)
            self.take(":")
            yield key
            if self.take(",}") == "}":
                return

    def end(self) -> None:
        """Nothing may follow the document."""
        if self.peek():
            raise InputError("not JSON (Extra data)", file=self.path, hint="a file holds one document")


@contextlib.contextmanager
def open_cursor(path: File, piece: int = PIECE) -> Iterator[Cursor]:
    """A cursor at the beginning of a JSON file."""
    with open_bytes(path) as raw:
        yield Cursor(path, raw, piece)


def read_elements(path: File, key: str | None = None, piece: int = PIECE) -> Iterator[Any]:
    """The elements of the root list, or of the list under this key of the root object, streamed."""
    with open_cursor(path, piece) as cursor:
        if key is None:
            yield from cursor.elements()
        else:
            for member in cursor.members():
                if member == key and cursor.peek() == "[":
                    yield from cursor.elements()
                else:
                    cursor.value()
        cursor.end()


def read_root(path: File) -> tuple[str, list[str]]:
    """How a file begins: `[` and the keys of its first element, or `{` and the root's own keys."""
    with open_cursor(path) as cursor:
        first = cursor.peek()
        if first == "[":
            element: Any = next(cursor.elements(), {})
            return first, list(element) if isinstance(element, dict) else []
        if first == "{":
            keys = []
            for member in cursor.members():
                keys.append(member)
                if cursor.peek() == "[":
                    break  # a long list: what it is called says enough
                cursor.value()
            return first, keys
        if not first:
            raise InputError("the file is empty", file=path, hint="it should hold a JSON document")
        raise cursor.explain_fault()


def encode_json(document: Any, path: object, indent: int | None = None) -> str:
    """The document as JSON and a newline; what JSON cannot hold is an error that names the file to be written."""
    try:
        return json.dumps(document, ensure_ascii=False, indent=indent, allow_nan=False) + "\n"
    except (ValueError, TypeError, RecursionError) as error:
        hint = "JSON holds text, finite numbers, lists and objects"
        raise InputError(f"cannot be written ({error})", file=path, hint=hint) from None


def write_text(path: Path, pieces: Iterable[str]) -> None:
    """Whole or not at all. Packed when it ends in .gz. A lone surrogate is written as its JSON escape."""
    write_bytes(path, (piece.encode(errors="backslashreplace") for piece in pieces))


def write_bytes(path: Path, pieces: Iterable[bytes], sweep: bool = True) -> None:
    """Made beside the target and named at the end (core/atomic.py); a device or a pipe is written to as it is.

    `sweep` takes away what killed runs left of this target; who writes thousands of files does that once.
    """
    from fabula.core import atomic

    with name_write_failures(path):
        if path.exists() and not path.is_file() and not path.is_dir():  # /dev/stdout must not be replaced
            with path.open("wb") as raw:
                pour_pieces(pieces, raw, path)
            return
        target = Path(os.path.realpath(path))  # through a symbolic link; unlike resolve(), no RuntimeError for a loop
        with atomic.beside(target, sweep) as folder:
            temporary = folder / "file"
            with temporary.open("xb") as raw:
                pour_pieces(pieces, raw, path)
            atomic.take_place(temporary, target)


@contextlib.contextmanager
def name_write_failures(path: Path) -> Iterator[None]:
    """What can go wrong between bytes and their path, as an InputError that names the file."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        hint = "make room, or choose another disk" if full else "check the folder"
        why = os.strerror(error.errno) if error.errno else " ".join(str(error).split())[:120]
        raise InputError(f"cannot be written ({why})", file=path, hint=hint) from None


@contextlib.contextmanager
def temporary_folder(name: str) -> Iterator[Path]:
    """Taken away afterwards; if we are killed, by the next who asks for one of this name."""
    import tempfile

    from fabula.core import atomic

    try:
        place = Path(tempfile.gettempdir()).absolute()
    except OSError:
        raise FabulaError("no folder for temporary files can be written to; name one with TMPDIR") from None
    with contextlib.ExitStack() as stack:
        with name_write_failures(place):
            folder = stack.enter_context(atomic.beside(place / name))
        yield folder


def pour_pieces(pieces: Iterable[bytes], raw: IO[bytes], path: Path) -> None:
    """The pieces into an open file, packed when the name says so; the same pieces give the same bytes."""
    with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if path.suffix == ".gz" else contextlib.nullcontext(raw) as out:
        for piece in pieces:
            out.write(piece)


def dump_json(path: Path, document: Any, indent: int | None = None) -> None:
    write_text(path, [encode_json(document, path, indent)])


# ── files and folders of them ──────────────────────────────────────────────────────────────────────────────────────


def find_parts(path: Path) -> tuple[list[Path], list[str]]:
    """The files of a folder, by name, and the names of those skipped; a file is the only part of itself.

    Subtitles are read where there are no files of lines. Names that begin with _ are skipped, but not those of
    subtitles: films have such names.
    """
    with name_failures(path):
        if not path.is_dir():
            return [path], []
        inner = sorted(f for f in path.iterdir() if not f.name.startswith("."))
    found = [f for f in inner if f.name.endswith(PARTS) and not f.name.startswith("_") and not f.is_dir()]
    if not found:
        found = [f for f in inner if f.name.lower().endswith(SUBTITLES) and not f.is_dir()]
    if not found:
        hint = f"a folder is read as one set: its files end in {', '.join((*PARTS, *SUBTITLES[:2]))}"
        raise InputError("is a directory without a file that is read", file=path, hint=hint)
    taken = set(found)
    return found, [f.name for f in inner if f not in taken and not f.name.startswith("_")]
