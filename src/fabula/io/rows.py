"""The rows of a result as a file, one line per video and reference set: .jsonl(.gz), .csv, or .parquet by Arrow."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fabula.core.errors import SpecError
from fabula.core.rows import Rows, wide
from fabula.io.files import write_bytes, write_text
from fabula.io.parquet import import_arrow

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
    if path.suffix != ".parquet":
        write_text(path, csv_lines(table) if path.suffix == ".csv" else lines(table))
        return
    pa, parquet = import_arrow("writing")
    names = list(dict.fromkeys(name for row in table for name in row))
    buffer = io.BytesIO()
    parquet.write_table(pa.table({n: [row.get(n) for row in table] for n in names}), buffer)
    write_bytes(path, [buffer.getvalue()])


def lines(table: list[dict[str, Any]]) -> Iterator[str]:
    for row in table:
        yield json.dumps(row, ensure_ascii=False) + "\n"


def csv_lines(table: list[dict[str, Any]]) -> Iterator[str]:
    """A cell is empty where a row has no such number; a list of statistics is JSON."""
    import csv

    names = list(dict.fromkeys(name for row in table for name in row))
    held = io.StringIO()
    written = csv.writer(held, lineterminator="\n")
    for cells in ([*names], *([row.get(name, "") for name in names] for row in table)):
        written.writerow([json.dumps(cell) if isinstance(cell, list) else cell for cell in cells])
        yield held.getvalue()
        held.seek(0)
        held.truncate()
