"""TOML files: plans, recipes. Small, so that what is small cannot mean much: keys and numbers are bounded too."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError, shown
from fabula.documents.files import check_path, decode_text
from fabula.documents.safe_open import open_bytes

LARGEST = 1 << 18  # bytes
PARTS = 64  # of a dotted key: tomllib's time and memory grow with their square
TEXTS = re.compile(  # strings, also those that do not end: no place is looked at twice; and comments
    r""""{3}(?:\\.|[^\\])*?(?:"{3}|\Z)|\'{3}.*?(?:\'{3}|\Z)|"(?:\\.|[^"\\\n])*+"?|\'[^\'\n]*+\'?|\#[^\n]*+""", re.DOTALL
)
DOTTED = re.compile(rf"(?<![\w-])[\w-]++(?:[ \t]*+\.[ \t]*+[\w-]++){{{PARTS}}}+")
WHOLE = 1 << 63  # TOML's whole numbers have 64 bits


def read_toml(path: Path) -> dict[str, Any]:
    """The document; what is wrong with it is said with its place."""
    path = check_path(path)
    with open_bytes(path) as stream:
        raw = stream.read(LARGEST + 1)
    if len(raw) > LARGEST:
        raise InputError(f"has more than {LARGEST:,} bytes", file=path, hint="is this a file of settings?")
    text = decode_text(raw, path)
    bare = TEXTS.sub(lambda found: "_" + "\n" * found[0].count("\n"), text)  # a quoted part of a key is a part
    if dotted := DOTTED.search(bare):
        where = f"line {bare.count(chr(10), 0, dotted.start()) + 1}"
        seen = f"a key of more than {PARTS} parts"
        raise InputError(seen, file=path, field=where, hint="no setting is nested so deeply")
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not TOML ({error})", file=path, hint="mend the file there") from None
    except RecursionError:
        raise InputError("is nested too deeply", file=path, hint="no setting is nested so deeply") from None
    except ValueError as error:  # a whole number of more than 4,300 digits
        raise InputError(f"not a usable number ({str(error).split(':')[0]})", file=path, hint="mend it") from None
    check_numbers(document, path, "")
    return document


def check_numbers(value: Any, path: Path, where: str) -> None:
    """Refuse whole numbers that TOML does not have: in hexadecimal they may be of any length."""
    if isinstance(value, dict):
        for key, inner in value.items():
            check_numbers(inner, path, f"{where}.{key}" if where else key)
    elif isinstance(value, list):
        for inner in value:
            check_numbers(inner, path, where)
    elif type(value) is int and not -WHOLE <= value < WHOLE:
        raise InputError("a whole number of more than 64 bits", file=path, field=shown(where), hint="mend it")
