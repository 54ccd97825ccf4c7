"""The way in: the bytes of a file, unpacked where its name ends in .gz, every failure named, and no more than fits.

A file may be cut, packed wrongly, without end (a device, a pipe), or unpack to a thousand times its size. Whoever reads
through `open_bytes` or `read_bytes` meets all of that as an InputError, and before the memory is full.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias, cast

from fabula.core.errors import InputError
from fabula.core.memory import available

if TYPE_CHECKING:
    from fabula.documents.document import Document

    File: TypeAlias = Path | Document

STEP = 4 << 20  # bytes between two looks at the memory
SPARE = 128 << 20  # bytes of memory that stay free while a file is read
LONGEST = {"line": 256 << 20, "value": 1 << 30}  # bytes of what is held at a time, however much memory there is
WHOLE = 3  # times its size is what a file takes that is held at once: its bytes, their text, what is made of it
PART = 8  # the same for one line or value, which is read beside all the others
BUFFER = 1 << 18
MAGIC = b"\x1f\x8b"  # how gzip begins
STREAM = "write it as .jsonl and score it with --work, or cut it into several files"


@contextlib.contextmanager
def name_failures(path: object) -> Iterator[None]:
    """What can go wrong between a path and its bytes, as an InputError that names the file."""
    try:
        yield
    except (EOFError, zlib.error) as error:
        hint = "write it again, or unpack it by hand to see how far it is whole"
        raise InputError(f"broken gzip ({error})", file=path, hint=hint) from None
    except OSError as error:
        raise explain_failure(path, error) from None
    except MemoryError:
        raise InputError("does not fit into memory", file=path, hint=STREAM) from None


def explain_failure(path: object, error: OSError) -> InputError:
    if isinstance(error, gzip.BadGzipFile):
        if "CRC" in str(error) or "length" in str(error):
            return InputError(f"broken gzip ({error})", file=path, hint="pack it again")
        problem = "something that is not gzip follows the packed data"
        return InputError(problem, file=path, hint="cut it off, or pack it again")
    if isinstance(error, FileNotFoundError):
        return InputError("no such file", file=path, hint="check the path")
    if isinstance(error, IsADirectoryError):
        return InputError("is a directory", file=path, hint="name a file in it")
    return InputError(
        f"cannot be read ({error.strerror or error})", file=path, hint="check the path and its permissions"
    )


def in_bytes(n: float) -> str:
    """12.3 GB."""
    return f"{n / 1e9:,.1f} GB" if n >= 1e9 else f"{n / 1e6:,.1f} MB"


class Meter:
    """Looks at the memory while a file passes by: whoever holds what was read is stopped before all of it is taken."""

    def __init__(self, path: Path) -> None:
        self.path, self.passed, self.next = path, 0, STEP
        self.spare: int | None = None

    def add(self, size: int) -> None:
        self.passed += size
        if self.passed >= self.next:
            self.next, left = self.passed + STEP, available()
            if self.spare is None:
                self.spare = min(SPARE, left // PART)
            elif left < self.spare:
                problem = f"memory runs out: {in_bytes(left)} are left when {in_bytes(self.passed)} of it are read"
                raise InputError(problem, file=self.path, hint=STREAM)


class Unpacked(io.RawIOBase):
    """The bytes of a file as they come; whatever goes wrong below them has the file's name."""

    def __init__(self, path: Path, named: Path) -> None:
        self.path, self.packed, self.meter = named, path.suffix == ".gz", Meter(named)
        with name_failures(named):
            raw = path.open("rb")
            if self.packed and (begins := raw.peek(2)[:2]) != MAGIC:
                raw.close()
                problem = "ends in .gz but is not gzip" if begins else "ends in .gz but is empty, not gzip"
                raise InputError(problem, file=named, hint="rename it, or pack it again")
        self.raw = raw
        self.inner = cast(IO[bytes], gzip.GzipFile(fileobj=raw) if self.packed else raw)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return not self.packed and self.inner.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with name_failures(self.path):
            return self.inner.seek(offset, whence)

    def tell(self) -> int:
        return self.inner.tell()

    def readinto(self, room: Any) -> int:
        with name_failures(self.path):
            got: int = self.inner.readinto(room)  # type: ignore[attr-defined]
        self.meter.add(got)
        return got

    def close(self) -> None:
        if not self.closed:
            self.inner.close()
            self.raw.close()
        super().close()


class Stream(io.BufferedReader):
    """A file to be read on and on. A line that never ends is refused."""

    def __init__(self, path: Path, named: Path) -> None:
        self.path = named
        super().__init__(Unpacked(path, named), BUFFER)

    def readline(self, size: int | None = -1) -> bytes:
        if size is not None and size >= 0:
            return super().readline(size)
        line = super().readline(STEP)
        if len(line) < STEP or line.endswith(b"\n"):
            return line
        gathered = io.BytesIO()
        while True:
            gathered.write(line)
            if line.endswith(b"\n") or not line:
                return gathered.getvalue()
            check_held(self.path, gathered.tell(), "line")
            line = super().readline(STEP)


def open_bytes(path: File, named: Path | None = None) -> io.BufferedReader:
    """The bytes as a stream, unpacked when the name ends in .gz; an error calls the file `named`."""
    return Stream(path, named or path) if isinstance(path, Path) else path.stream()


def read_bytes(path: File) -> bytes:
    """The whole file, unpacked when it ends in .gz; refused where it would not fit."""
    if not isinstance(path, Path):
        return path.raw()
    with open_bytes(path) as stream, name_failures(path):
        known = path.stat()
        if stat.S_ISREG(known.st_mode):
            check_whole(path, known.st_size, 0)
        content = io.BytesIO()
        while piece := stream.read(STEP):
            if content.tell() == 0 and len(piece) == STEP:
                check_text(path, piece)
            content.write(piece)
            if content.tell() > STEP:
                check_whole(path, content.tell(), content.tell())
        return content.getvalue()


def check_whole(path: Path, size: int, held: int) -> None:
    """Refuse to hold a file, of which `held` bytes are in memory already."""
    if size > STEP and size * WHOLE > (left := available() + held):
        size_text = (
            f"{'unpacks to ' if path.suffix == '.gz' and held else ''}{in_bytes(size)}{' or more' if held else ''}"
        )
        problem = f"{size_text} in one document, too much for the {in_bytes(left)} of memory that are left"
        raise InputError(problem, file=path, hint=STREAM)


def check_text(path: object, piece: bytes) -> None:
    """Refuse at its beginning what is long and no text: a device of zeros, a film."""
    if (at := piece.find(0)) >= 0 and not piece.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")):
        raise InputError(f"byte {at} is 0: this is no text", file=path, hint="name a file of text")


def check_held(path: object, size: int, what: str) -> None:
    """Refuse a line, or a value, that is longer than fits beside the others. Cheap while it is short."""
    if size > STEP and size > (most := min(LONGEST[what], available() // PART)):
        hint = "a line holds one object: is this a file of lines?" if what == "line" else STREAM
        raise InputError(f"a {what} of more than {in_bytes(most)}", file=path, hint=hint)


def check_decoded(path: object, data: bytes) -> None:
    """Refuse bytes whose text would not fit: one emoji, and every character of it takes four bytes."""
    if len(data) <= 4 * STEP:
        return
    wide = 1 if data.isascii() else 4 if any(data.find(lead) >= 0 for lead in range(0xF0, 0xF5)) else 2
    needs, left = len(data) * (wide if wide == 1 else wide + 1), available()  # it begins narrow, and is copied
    if needs > left:
        problem = f"its text would take {in_bytes(needs)}, more than the {in_bytes(left)} of memory left"
        raise InputError(problem, file=path, hint=STREAM)


def check_parsed(path: object, text: str) -> None:
    """Refuse JSON whose objects would not fit, by counting its signs: `{}` takes twenty times what it is written in."""
    if len(text) <= 4 * STEP:
        return
    signs = {"{": 184, "[": 88, ",": 32, '"': 12}  # bytes that Python takes for each, about
    needs, left = len(text) + sum(text.count(sign) * size for sign, size in signs.items()), available()
    if needs > left:
        problem = f"its objects would take some {in_bytes(needs)}, more than the {in_bytes(left)} of memory left"
        raise InputError(problem, file=path, hint=STREAM)
