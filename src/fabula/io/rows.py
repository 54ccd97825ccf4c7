"""The rows of a result as a file, one line per video and reference set: .jsonl(.gz), or .parquet through Arrow."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fabula.core.errors import SpecError
from fabula.core.rows import Rows
from fabula.io.files import write_bytes, write_text
from fabula.io.parquet import import_arrow

SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet")


def wide(rows: Mapping[str, Rows]) -> list[dict[str, Any]]:
    """All metrics side by side: {"video", "refset", "SODA_c.f1": …, "mIoU": …}; absent where there is no such row."""
    table: dict[tuple[str | int, int], dict[str, Any]] = {}
    for metric, part in rows.items():
        for row in part.dicts():
            key, refset = row.pop(part.unit), row.pop("refset")
            whose = {part.unit: key} if part.unit == "id" else {part.unit: key, "refset": refset}
            place = table.setdefault((key, refset), whose)
            place |= {metric if c == "value" else f"{metric}.{c}": number for c, number in row.items()}
    return list(table.values())


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
