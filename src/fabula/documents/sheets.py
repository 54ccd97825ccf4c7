"""Tables with a head: .csv, .tsv and .xlsx as rows by column name, as evaluation kits write them. [{column: cell}]

An empty cell is None, a cell of .csv or .tsv is text; of a workbook the first sheet is read (extra: tables).
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from fabula.core.errors import InputError, MissingExtra
from fabula.core.memory import require
from fabula.documents.files import name_file
from fabula.documents.safe_open import read_bytes

if TYPE_CHECKING:
    from fabula.documents.safe_open import File

LARGEST_CELL = 1 << 24  # characters
Row = dict[str, Any]


def read_table(path: File) -> list[Row]:
    """Every row; blank ones are left out."""
    cells = read_workbook(path) if name_file(path).lower().endswith(".xlsx") else read_delimited(path)
    head = next(cells, None)
    if head is None:
        raise InputError("the table is empty", file=path, hint="its first row names the columns")
    names = name_columns(head, path)
    rows = (as_row(names, line, path) for line in cells)
    return [row for row in rows if any(cell is not None for cell in row.values())]


def name_columns(head: Sequence[Any], path: File) -> list[str]:
    names = ["" if cell is None else str(cell).strip() for cell in head]
    while names and not names[-1]:
        names.pop()
    twice = next((n for n in names if n and names.count(n) > 1), None)
    if twice is not None:
        raise InputError(f"the column {twice!r} stands twice", file=path, hint="rename one of the two")
    if not any(names):
        raise InputError("the first row names no column", file=path, hint="its first row names the columns")
    return names


def as_row(names: list[str], line: Sequence[Any], path: File) -> Row:
    if len(line) > len(names) and any(cell not in (None, "") for cell in line[len(names) :]):
        hint = "quote cells that hold the delimiter"
        raise InputError(f"a row of {len(line)} cells under {len(names)} columns", file=path, hint=hint)
    made = {name: cell for name, cell in zip_longest(names, line[: len(names)]) if name}
    return {name: None if cell == "" else cell for name, cell in made.items()}


def read_delimited(path: File) -> Iterator[Sequence[Any]]:
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"not UTF-8 ({error.reason} at byte {error.start})", file=path, hint="save it as UTF-8"
        ) from None
    before = csv.field_size_limit(LARGEST_CELL)
    try:
        yield from csv.reader(
            io.StringIO(text, newline=""), "excel-tab" if name_file(path).lower().endswith(".tsv") else "excel"
        )
    except csv.Error as error:
        raise InputError(f"cannot be read as a table ({error})", file=path, hint="save it again") from None
    finally:
        csv.field_size_limit(before)


def read_workbook(path: File) -> Iterator[Sequence[Any]]:
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise MissingExtra(f"{path}: reading .xlsx", "tables") from None
    data = read_bytes(path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            unpacked = sum(entry.file_size for entry in packed.infolist())
        require(6 * unpacked, f"{path}, unpacked", "save it as .tsv")
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        rows: Iterable[Sequence[Any]] = book.worksheets[0].iter_rows(values_only=True) if book.worksheets else ()
        yield from rows
    except InputError:
        raise
    except Exception as error:  # whatever a broken workbook does to its reader
        hint = "open and save it again, or save it as .tsv"
        raise InputError(f"no workbook that can be read ({type(error).__name__})", file=path, hint=hint) from None
