"""Tables of any columns: .csv, .parquet, .jsonl(.gz); a row is a mapping. For scores and people's judgements."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError, shown
from fabula.documents.files import LINES, check_path, decode_text, has_lines, read_objects
from fabula.documents.parquet import read_rows
from fabula.documents.safe_open import read_bytes

ENDINGS = (".csv", ".parquet", *LINES)
# How a formula begins for a spreadsheet. A sign before a number or a plain word (-0.5, an id -Ju39) computes nothing.
FORMULA = re.compile(r"'*(?:[=@\t\r\n＝＠]|[-+－＋](?![\w.:-]*\Z))")


def escape_formula(value: Any) -> Any:
    """A cell of a .csv: text that a spreadsheet would run has an apostrophe before it, which `read_csv` takes off."""
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value


def unescape_formula(cell: Any) -> Any:
    """The inverse of `escape_formula`."""
    return cell[1:] if isinstance(cell, str) and cell.startswith("'") and FORMULA.match(cell, 1) else cell


def read_table(path: Path) -> list[dict[str, Any]]:
    """Every row; CSV's cells are text, as they stand."""
    path = check_path(path)
    if not path.name.endswith(ENDINGS):
        raise InputError("is no table that can be read", file=path, hint=f"tables end in {', '.join(ENDINGS)}")
    rows = list(walk(path))
    if not rows:
        raise InputError("holds no rows", file=path, hint="check what wrote it")
    return rows


def walk(path: Path) -> Iterator[dict[str, Any]]:
    if path.suffix == ".parquet":
        yield from (row for _, row in read_rows(path, path))
    elif has_lines(path):
        for number, row in read_objects(path):
            if not isinstance(row, dict):
                raise InputError(f"saw {shown(row)}", file=path, field=f"line {number}", hint="a line is an object")
            yield row
    else:
        yield from read_csv(path)


def read_csv(path: Path) -> Iterator[dict[str, Any]]:
    text = decode_text(read_bytes(path), path)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        head = next(reader, [])
        if len(set(head)) < len(head) or not head:
            raise InputError("its first line does not name columns, each once", file=path, hint="name them")
        for row in reader:
            if not row:
                continue
            if len(row) != len(head):
                seen = f"{len(row)} cells under {len(head)} columns"
                raise InputError(seen, file=path, field=f"line {reader.line_num}", hint="mend the line")
            yield dict(zip(head, map(unescape_formula, row), strict=True))
    except csv.Error as error:
        raise InputError(f"not CSV ({error})", file=path, field=f"line {reader.line_num}") from None


def as_number(value: Any, path: Path, column: str, row: int) -> float:
    """A finite number, also one that is written as text."""
    try:
        found = float(value) if not isinstance(value, bool) else float("nan")
    except (TypeError, ValueError):
        found = float("nan")
    if not abs(found) < 1e300:
        raise InputError(
            f"saw {shown(value)}", file=path, field=f"row {row}, {column}", hint="a finite number is needed"
        )
    return found
