"""Bytes in, bytes out: plain or .gz, checked JSON with duplicate keys refused, files written whole or not at all."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError, shown


def read_bytes(path: Path) -> bytes:
    """The whole file, unpacked when it ends in .gz."""
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except OSError as error:
        raise unreadable(path, error) from None
    except (EOFError, zlib.error) as error:
        raise InputError(
            f"broken gzip ({error})", file=path, hint="unpack it by hand to see how far it is whole"
        ) from None


def unreadable(path: Path, error: OSError) -> InputError:
    if isinstance(error, gzip.BadGzipFile):
        return InputError("ends in .gz but is not gzip", file=path, hint="rename it, or pack it again")
    if isinstance(error, FileNotFoundError):
        return InputError("no such file", file=path, hint="check the path")
    if isinstance(error, IsADirectoryError):
        return InputError("is a directory", file=path, hint="name a file in it")
    return InputError(
        f"cannot be read ({error.strerror or error})", file=path, hint="check the path and its permissions"
    )


def decode(data: bytes, path: Path, line: int | None = None) -> str:
    where = f"line {line}" if line else None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} ({data[error.start]:#04x}) is not UTF-8"
        raise InputError(problem, file=path, field=where, hint="save the file as UTF-8") from None


def load_json(path: Path) -> Any:
    """The document, with the place of the fault where it is not JSON."""
    text = decode(read_bytes(path), path)
    if not text.strip():
        raise InputError("the file is empty", file=path, hint="it should hold a JSON document")
    return parse_json(text, path)


def parse_json(text: str, path: Path, line: int | None = None) -> Any:
    """JSON that refuses an object with one key twice. NaN and Infinity pass: the field check names them."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            twice = next(k for k, _ in pairs if k in seen or seen.add(k))  # type: ignore[func-returns-value]
            raise InputError(
                f"the key {shown(twice)} stands twice in one object",
                file=path,
                field=f"line {line}" if line else None,
                hint="keep one of the two; readers that take the last one lose the other in silence",
            )
        return found

    try:
        return json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        at_end = error.pos >= len(text.rstrip())
        what = "the JSON ends too early" if at_end else f"not JSON ({error.msg})"
        place = f"line {line}" if line else f"line {error.lineno} column {error.colno}"
        hint = "the file is truncated: write it again" if at_end else "mend the file there"
        raise InputError(what, file=path, field=place, hint=hint) from None
    except RecursionError:
        raise InputError("the JSON is nested too deeply", file=path, hint="no format read here needs it") from None
    except ValueError as error:  # an integer of more than 4,300 digits
        raise InputError(f"not a usable number ({error})".split(";")[0], file=path, hint="mend the file") from None


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines of a text file, streamed; blank lines are passed over."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            for number, raw in enumerate(stream, 1):
                text = decode(raw, path, number).strip()
                if text:
                    yield number, text
    except OSError as error:
        raise unreadable(path, error) from None
    except (EOFError, zlib.error) as error:
        raise InputError(f"broken gzip ({error})", file=path, hint="write it again") from None


def write_text(path: Path, pieces: Iterable[str]) -> None:
    """Whole or not at all: a temporary file beside the target takes its name at the end. Packed when it ends in .gz."""
    write_bytes(path, (piece.encode() for piece in pieces))


def write_bytes(path: Path, pieces: Iterable[bytes]) -> None:
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        with os.fdopen(handle, "wb") as raw, gzip.open(raw, "wb") if path.suffix == ".gz" else raw as stream:
            for piece in pieces:
                stream.write(piece)
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        Path(temporary).replace(path)
        temporary = None
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror or error})", file=path, hint="check the folder") from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


def dump_json(path: Path, document: Any, indent: int | None = None) -> None:
    write_text(path, [json.dumps(document, ensure_ascii=False, indent=indent, allow_nan=False), "\n"])
