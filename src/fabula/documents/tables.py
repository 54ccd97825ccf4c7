"""Tables with named columns: .csv, .tsv, .xlsx, .parquet, .jsonl(.gz); a row is a mapping. [{column: cell}]

Cells of .csv and .tsv are text, as they stand. As evaluation kits write tables (`loose`), an empty cell is None, cells
at the end of a row may be missing, and blank rows are left out. Of a workbook the first sheet is read (extra: tables).
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError, MissingExtra, shown
from fabula.core.memory import require
from fabula.documents.document import Document, open_document
from fabula.documents.files import LINES, decode_text

Row = dict[str, Any]
ENDINGS = (".csv", ".tsv", ".xlsx", ".parquet", *LINES)
LARGEST_CELL = 1 << 24  # characters
# How a formula begins for a spreadsheet. A sign before a number or a plain word (-0.5, an id -Ju39) computes nothing.
FORMULA = re.compile(r"'*(?:[=@\t\r\n＝＠]|[-+－＋](?![\w.:-]*\Z))")


def escape_formula(value: Any) -> Any:
    """A cell of a .csv: text that a spreadsheet would run has an apostrophe before it, which `read_rows` takes off."""
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value


def unescape_formula(cell: Any) -> Any:
    """The inverse of `escape_formula`."""
    return cell[1:] if isinstance(cell, str) and cell.startswith("'") and FORMULA.match(cell, 1) else cell


def read_table(file: str | Path | Document) -> list[Row]:
    """Every row of a table that has some."""
    document = open_document(file)
    if not document.filename.removesuffix(".gz").endswith(ENDINGS):
        raise InputError("is no table that can be read", file=document, hint=f"tables end in {', '.join(ENDINGS)}")
    rows = list(read_rows(document))
    if not rows:
        raise InputError("holds no rows", file=document, hint="check what wrote it")
    return rows


def read_rows(file: str | Path | Document, loose: bool = False) -> Iterator[Row]:
    """The rows of a table."""
    document = open_document(file)
    if document.lines or document.is_parquet:
        for number, row in document.numbered():
            if not isinstance(row, dict):
                hint = "a line is an object"
                raise InputError(f"saw {shown(row)}", file=document, field=document.place(number), hint=hint)
            yield row
    elif loose:
        yield from read_loose(document)
    else:
        yield from read_strict(document)


def read_strict(document: Document) -> Iterator[Row]:
    cells = read_cells(document, strict=True)
    _, head = next(cells, (1, []))
    if len(set(head)) < len(head) or not head:
        raise InputError("its first line does not name columns, each once", file=document, hint="name them")
    names = list(map(unescape_formula, head))
    for number, row in cells:
        if row and len(row) != len(names):
            seen = f"{len(row)} cells under {len(names)} columns"
            raise InputError(seen, file=document, field=document.place(number), hint="mend the line")
        if row:
            yield dict(zip(names, map(unescape_formula, row), strict=True))


def read_loose(document: Document) -> Iterator[Row]:
    cells = read_cells(document)
    _, head = next(cells, (1, None))
    if head is None:
        raise InputError("the table is empty", file=document, hint="its first row names the columns")
    names = name_columns(head, document)
    for _, line in cells:
        if len(line) > len(names) and any(cell not in (None, "") for cell in line[len(names) :]):
            hint = "quote cells that hold the delimiter"
            raise InputError(f"a row of {len(line)} cells under {len(names)} columns", file=document, hint=hint)
        row = {name: cell for name, cell in zip_longest(names, line[: len(names)]) if name}
        row = {name: None if cell == "" else cell for name, cell in row.items()}
        if any(cell is not None for cell in row.values()):
            yield row


def name_columns(head: Sequence[Any], document: Document) -> list[str]:
    names = ["" if cell is None else str(cell).strip() for cell in head]
    while names and not names[-1]:
        names.pop()
    twice = next((n for n in names if n and names.count(n) > 1), None)
    if twice is not None:
        raise InputError(f"the column {twice!r} stands twice", file=document, hint="rename one of the two")
    if not any(names):
        raise InputError("the first row names no column", file=document, hint="its first row names the columns")
    return names


def read_cells(document: Document, strict: bool = False, delimiter: str = "") -> Iterator[tuple[int, Sequence[Any]]]:
    """The cells of each row, and the line on which it ends."""
    if document.ending == ".xlsx":
        yield from enumerate(read_workbook(document), 1)
        return
    text = decode_text(document.raw(), document)
    delimiter = delimiter or ("\t" if document.ending == ".tsv" else ",")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=strict)
    before = csv.field_size_limit(LARGEST_CELL)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        place = document.place(reader.line_num)
        raise InputError(f"not CSV ({error})", file=document, field=place, hint="save it again") from None
    finally:
        csv.field_size_limit(before)


def read_workbook(document: Document) -> Iterator[Sequence[Any]]:
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise MissingExtra(f"{document}: reading .xlsx", "tables") from None
    data = document.raw()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            unpacked = sum(entry.file_size for entry in packed.infolist())
        require(6 * unpacked, f"{document}, unpacked", "save it as .tsv")
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        rows: Iterable[Sequence[Any]] = book.worksheets[0].iter_rows(values_only=True) if book.worksheets else ()
        yield from rows
    except InputError:
        raise
    except Exception as error:  # whatever a broken workbook does to its reader
        hint = "open and save it again, or save it as .tsv"
        raise InputError(f"no workbook that can be read ({type(error).__name__})", file=document, hint=hint) from None


def as_number(value: Any, path: object, column: str, row: int) -> float:
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
