"""The rows of a result as a file, one line per video and reference set: .jsonl(.gz), or .parquet through Arrow."""

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

SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet")


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
        write_text(path, lines(table))
        return
    pa, parquet = import_arrow("writing")
    names = list(dict.fromkeys(name for row in table for name in row))
    buffer = io.BytesIO()
    parquet.write_table(pa.table({n: [row.get(n) for row in table] for n in names}), buffer)
    write_bytes(path, [buffer.getvalue()])


def lines(table: list[dict[str, Any]]) -> Iterator[str]:
    for row in table:
        yield json.dumps(row, ensure_ascii=False) + "\n"
