"""The text of a subtitle file, whose encoding nobody wrote down: UTF-8, UTF-16 or UTF-32, and else one named, or
Windows-1252.

A byte order mark decides. Without one, text that is valid UTF-8 is UTF-8, and text in which every other byte is 0 is
UTF-16. Anything else is read in the encoding that was named, or in Windows-1252 (Latin-1 where that has no letter), and
a note says so: other code pages look the same to a program.
"""

from __future__ import annotations

import codecs

from fabula.core.errors import InputError, SpecError, shown
from fabula.documents.fields import Source
from fabula.documents.files import ZIP
from fabula.documents.safe_open import check_decoded

MARKS = (  # UTF-32 LE begins as UTF-16 LE does
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
LOOKED_AT = 4096  # bytes by which UTF-16 without a mark is known
TEXT_HINT = "name a file of text: .srt or .vtt"


def decode_subtitles(data: bytes, source: Source, encoding: str | None = None) -> str:
    """The text; a note where the encoding was a guess. `encoding` is that of files that are no UTF-8 or UTF-16."""
    name = source.document.filename
    check_decoded(source.document, data)
    if data.startswith(ZIP):
        raise source.wrong("this is a .zip archive", hint="unpack it, and name the file that is in it")
    fallback = find_encoding(encoding) if encoding else None
    for mark, code in MARKS:
        if data.startswith(mark):
            text = decode_strictly(data[len(mark) :], code, source)
            if code != "utf-8":
                source.notes.add("{n} files are UTF-16 or UTF-32, by their first bytes", name)
            return text
    wide = guess_wide(data)
    if wide is not None:
        source.notes.add("{n} files are UTF-16 without a byte order mark", name)
        return decode_strictly(data, wide, source)
    if 0 in data[:LOOKED_AT]:
        raise source.wrong(f"byte {data.index(0)} is 0: this is no text", hint=TEXT_HINT)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        place = f"{name} byte {error.start} ({data[error.start]:#04x})"
    if fallback is not None:
        return decode_strictly(data, fallback, source)
    source.notes.add(
        "{n} files are not UTF-8 and were read as Windows-1252; name another encoding where letters look wrong", place
    )
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def find_encoding(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except (LookupError, ValueError):
        raise SpecError(
            f"no encoding is called {shown(name)}; Python's names are meant: cp1251, big5, latin-1"
        ) from None


def guess_wide(data: bytes) -> str | None:
    """UTF-16 without a mark: of its first signs, nearly all have one byte that is 0, always on the same side."""
    head = data[:LOOKED_AT]
    pairs = len(head) // 2
    if pairs < 4:
        return None
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if odd > 0.4 * pairs and even < 0.02 * pairs:
        return "utf-16-le"
    return "utf-16-be" if even > 0.4 * pairs and odd < 0.02 * pairs else None


def decode_strictly(data: bytes, code: str, source: Source) -> str:
    try:
        return data.decode(code)
    except (UnicodeDecodeError, UnicodeError, AssertionError, TypeError) as error:
        at = error.start if isinstance(error, UnicodeDecodeError) else 0
        hint = "save the file as UTF-8"
        raise InputError(f"byte {at} is not {code.upper()}", file=source.document, hint=hint) from None
    except LookupError:  # a codec of bytes to bytes, such as "hex"
        raise SpecError(f"{code} is no encoding of text; cp1251, big5 and latin-1 are") from None
