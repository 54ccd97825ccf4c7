"""Bytes in, bytes out: plain or .gz, checked JSON with duplicate keys refused, files written whole or not at all."""

from __future__ import annotations

import codecs
import contextlib
import gc
import gzip
import json
import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, cast

from fabula.core.errors import InputError, shown

WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)  # UTF-32 LE begins as UTF-16 LE does


def read_bytes(path: Path) -> bytes:
    """The whole file, unpacked when it ends in .gz."""
    with failures_named(path):
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data


def unpacked(path: Path) -> IO[bytes]:
    """The bytes as a stream, unpacked when the name ends in .gz."""
    return cast(IO[bytes], gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


@contextlib.contextmanager
def failures_named(path: Path) -> Iterator[None]:
    """What can go wrong between a path and its bytes, as an InputError that names the file."""
    try:
        yield
    except (EOFError, zlib.error) as error:
        hint = "write it again, or unpack it by hand to see how far it is whole"
        raise InputError(f"broken gzip ({error})", file=path, hint=hint) from None
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: OSError) -> InputError:
    if isinstance(error, gzip.BadGzipFile):
        if "CRC" in str(error) or "length" in str(error):
            return InputError(f"broken gzip ({error})", file=path, hint="pack it again")
        return InputError("ends in .gz but is not gzip", file=path, hint="rename it, or pack it again")
    if isinstance(error, FileNotFoundError):
        return InputError("no such file", file=path, hint="check the path")
    if isinstance(error, IsADirectoryError):
        return InputError("is a directory", file=path, hint="name a file in it")
    return InputError(
        f"cannot be read ({error.strerror or error})", file=path, hint="check the path and its permissions"
    )


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """No cyclic garbage collection inside: JSON makes no cycles, and walking it over and over is 40 % of reading it."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def decode(data: bytes, path: Path, line: int | None = None) -> str:
    """UTF-8 as text; a byte order mark at the head of the file is passed over."""
    where = f"line {line}" if line else None
    try:
        return data.decode("utf-8-sig" if line in (None, 1) else "utf-8")
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} ({data[error.start]:#04x}) is not UTF-8"
        if data.startswith(WIDE):
            problem = "this is UTF-16 or UTF-32, not UTF-8"
        raise InputError(problem, file=path, field=where, hint="save the file as UTF-8") from None


def load_json(path: Path) -> Any:
    """The document, with the place of the fault where it is not JSON."""
    text = decode(read_bytes(path), path)
    if not text.strip():
        raise InputError("the file is empty", file=path, hint="it should hold a JSON document")
    return parse_json(text, path)


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
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


DECODER = json.JSONDecoder(object_pairs_hook=unique)


def parse_json(text: str, path: Path, line: int | None = None) -> Any:
    """JSON that refuses an object with one key twice. NaN and Infinity pass: the field check names them."""
    where = f"line {line}" if line else None
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


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines of a text file, streamed; blank lines are passed over."""
    with failures_named(path), unpacked(path) as stream:
        for number, raw in enumerate(stream, 1):
            text = decode(raw, path, number).strip()
            if text:
                yield number, text


def json_text(document: Any, path: Path, indent: int | None = None) -> str:
    """The document as JSON and a newline; what JSON cannot hold is an error that names the file to be written."""
    try:
        return json.dumps(document, ensure_ascii=False, indent=indent, allow_nan=False) + "\n"
    except (ValueError, TypeError, RecursionError) as error:
        hint = "JSON holds text, finite numbers, lists and objects"
        raise InputError(f"cannot be written ({error})", file=path, hint=hint) from None


def write_text(path: Path, pieces: Iterable[str]) -> None:
    """Whole or not at all. Packed when it ends in .gz. A lone surrogate is written as its JSON escape."""
    write_bytes(path, (piece.encode(errors="backslashreplace") for piece in pieces))


def write_bytes(path: Path, pieces: Iterable[bytes]) -> None:
    """A temporary file beside the target takes its name at the end; a device or a pipe is written to as it is."""
    temporary: str | None = None
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # /dev/stdout must not be replaced
            with path.open("wb") as raw:
                pour(pieces, raw, path)
            return
        target = Path(os.path.realpath(path))  # through a symbolic link; unlike resolve(), no RuntimeError for a loop
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name[:40]}.", suffix=".tmp", dir=target.parent)
        with os.fdopen(handle, "wb") as raw:
            pour(pieces, raw, path)
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~umask)
        Path(temporary).replace(target)
        temporary = None
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror or error})", file=path, hint="check the folder") from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


def pour(pieces: Iterable[bytes], raw: IO[bytes], path: Path) -> None:
    """The pieces into an open file, packed when the name says so; the same pieces give the same bytes."""
    with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if path.suffix == ".gz" else contextlib.nullcontext(raw) as out:
        for piece in pieces:
            out.write(piece)


def dump_json(path: Path, document: Any, indent: int | None = None) -> None:
    write_text(path, [json_text(document, path, indent)])
