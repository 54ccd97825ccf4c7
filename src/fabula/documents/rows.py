"""The rows of a result as a file, one line per video and reference set: .jsonl(.gz), .csv, or .parquet by Arrow."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError, SpecError
from fabula.core.rows import Rows, wide
from fabula.documents.document import open_document
from fabula.documents.files import write_bytes, write_text
from fabula.documents.parquet import import_arrow
from fabula.documents.tables import escape_formula, read_rows

SUFFIXES = (".jsonl", ".jsonl.gz", ".csv", ".parquet")


def check_suffix(path: Path) -> None:
    """Before anything is computed: a file we cannot write is said at once."""
    if not path.name.endswith(SUFFIXES):
        raise SpecError(f"{path}: rows are written as {', '.join(SUFFIXES)}; choose one by the file's ending")
    if path.suffix == ".parquet":
        import_arrow("writing")


def write_rows(rows: Mapping[str, Rows], path: Path) -> None:
    check_suffix(path)
    table = wide(rows)
    write_table(table, path, list(dict.fromkeys(name for row in table for name in row)))


def write_table(table: Sequence[Mapping[str, object]], path: Path, names: Sequence[str]) -> None:
    """Rows with these columns, as the file's ending says."""
    if path.suffix != ".parquet":
        write_text(path, csv_lines(table, names) if path.suffix == ".csv" else lines(table))
        return
    pa, parquet = import_arrow("writing")
    buffer = io.BytesIO()
    parquet.write_table(pa.table({n: [row.get(n) for row in table] for n in names}), buffer)
    write_bytes(path, [buffer.getvalue()])


def lines(table: Iterable[Mapping[str, object]]) -> Iterator[str]:
    for row in table:
        yield json.dumps(row, ensure_ascii=False) + "\n"


def csv_lines(table: Iterable[Mapping[str, object]], names: Sequence[str]) -> Iterator[str]:
    """A cell is empty where a row has no such number; a list of statistics is JSON."""
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    head: list[list[object]] = [[*names]]
    for cells in chain(head, ([row.get(name, "") for name in names] for row in table)):
        writer.writerow([json.dumps(cell) if isinstance(cell, list) else escape_formula(cell) for cell in cells])
        yield line.getvalue()
        line.seek(0)
        line.truncate()


# --- read again ------------------------------------------------------------------------------------------------------

KEYS = ("video", "query", "id", "image", "set")  # what a row is, by the column that names it
Table = dict[str, dict[str, float]]  # column → key → number


def read_columns(file: str | Path) -> tuple[Table, str]:
    """Every column of numbers by video, the mean over reference sets; and what a row is."""
    document = open_document(file)
    if not document.filename.lower().endswith((*SUFFIXES, ".csv.gz")):
        hint = "write a row per video with fabula score --rows rows.jsonl"
        raise InputError(f"rows are {', '.join(SUFFIXES)} or .csv.gz", file=document, hint=hint)
    return gather(read_rows(document), document)


def gather(rows: Iterable[Mapping[str, Any]], source: object) -> tuple[Table, str]:
    """Rows by their keys. A number for a video is the mean over its reference sets, as everywhere."""
    found: dict[str, dict[str, list[float]]] = {}
    unit = ""
    for row in rows:
        unit = unit or next((key for key in KEYS if key in row), "")
        if unit not in row:
            hint = "write rows with fabula score --rows rows.jsonl"
            raise InputError("no row names its video, query, image, set or id", file=str(source), hint=hint)
        for column, value in row.items():
            number = read_number(value) if column not in (unit, "refset") else None
            if number is not None:
                found.setdefault(column, {}).setdefault(str(row[unit]), []).append(number)
    if not found:
        raise InputError("no rows with numbers", file=str(source), hint="write them with fabula score --rows")
    return {c: {k: sum(v) / len(v) for k, v in keys.items()} for c, keys in found.items()}, unit


def read_number(value: object) -> float | None:
    """Lists and words are no numbers; a cell of a .csv may be one."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
