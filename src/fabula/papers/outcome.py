"""What came out of a table: each number as the mean over seeds beside the paper's, and the difference."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

import fabula
from fabula.core.errors import FabulaError
from fabula.documents.fields import JsonDict
from fabula.papers.table import Column, Printed, Row, Table

Documents = Mapping[str, Sequence[Mapping[str, object]]]  # part → what the steps of each seed wrote, by name
ROUND = 12  # decimals of numbers in JSON


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of the table: ours of each seed, and the paper's."""

    paper: Printed | None
    values: tuple[float, ...]

    @property
    def mean(self) -> float | None:
        return mean(self.values) if self.values else None

    @property
    def sd(self) -> float | None:
        return stdev(self.values) if len(self.values) > 1 else None

    @property
    def difference(self) -> float | None:
        return None if self.paper is None or self.mean is None else self.mean - self.paper.value


@dataclass(frozen=True, slots=True)
class Line:
    """A row with its numbers."""

    row: Row
    cells: tuple[Cell, ...]
    problem: str  # why it is not run, or not whole; "": it is
    signatures: Mapping[str, tuple[str, ...]]  # of its numbers, by protocol

    @property
    def is_run(self) -> bool:
        return any(cell.values for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Outcome:
    table: Table
    lines: tuple[Line, ...]
    seeds: tuple[int, ...]
    is_simulated: bool

    @property
    def signatures(self) -> dict[str, list[str]]:
        """By protocol, each once."""
        found: dict[str, list[str]] = {}
        for line in self.lines:
            for protocol, texts in line.signatures.items():
                known = found.setdefault(protocol, [])
                known += [text for text in texts if text not in known]
        return found

    def to_dict(self) -> JsonDict:
        return {
            "fabula": fabula.__version__,
            "table": self.table.name,
            "title": self.table.title,
            "paper": self.table.paper,
            "simulated": self.is_simulated,
            "seeds": list(self.seeds),
            "columns": [column.title for column in self.table.columns],
            "rows": [
                {
                    "section": line.row.section,
                    "labels": list(line.row.labels),
                    "not run": line.problem or None,
                    "cells": [cell_json(cell) for cell in line.cells],
                }
                for line in self.lines
            ],
            "signatures": self.signatures,
        }


def cell_json(cell: Cell) -> JsonDict:
    return {
        "values": [round(value, ROUND) for value in cell.values],
        "mean": rounded(cell.mean),
        "sd": rounded(cell.sd),
        "paper": None if cell.paper is None else cell.paper.value,
        "paper sd": None if cell.paper is None else cell.paper.sd,
        "difference": rounded(cell.difference),
    }


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, ROUND)


def make_line(table: Table, row: Row, documents: Documents, problem: str) -> Line:
    """A row from what its steps wrote; without documents as the paper prints it."""
    cells, signatures = list[Cell](), dict[str, tuple[str, ...]]()
    empty: list[str] = []
    for column, printed in zip(table.columns, row.paper, strict=True):
        values, key = list[float](), fill_key(column.key, row.variables)
        for part, seeds in documents.items():
            if column.part in ("", part):
                for written in seeds:
                    value, document = find_value(written, column, key)
                    if value is None:
                        continue
                    values.append(value * column.scale)
                    protocol, signature = find_signature(document, key)
                    if signature and signature not in signatures.get(protocol, ()):
                        signatures[protocol] = (*signatures.get(protocol, ()), signature)
        cells.append(Cell(printed, tuple(values)))
        if printed is not None and not values and (column.part in documents if column.part else documents):
            empty.append(column.title)
    if empty and not problem:
        problem = f"no number of {', '.join(empty)} in what the steps wrote"
    return Line(row, tuple(cells), problem, signatures)


def fill_key(key: str, variables: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda m: variables[m[1]], key)


def find_value(written: Mapping[str, object], column: Column, key: str) -> tuple[float | None, object]:
    """The number of a column, and the document that has it: of the named step, the last one, or any."""
    names = list(written)[::-1] if column.step == "any" else [column.step or list(written)[-1]]
    for name in names:
        if (value := find_number(written.get(name), key)) is not None:
            return value, written[name]
    return None, None


def find_number(document: object, key: str) -> float | None:
    """The number under the key; None where the document has none: some rows have fewer numbers."""
    for part in key.split("/"):
        if isinstance(document, list):
            document = choose(document, part)
        else:
            document = document.get(part) if isinstance(document, dict) else None
    if document is None:
        return None
    if isinstance(document, bool) or not isinstance(document, int | float):
        raise FabulaError(f"{key} names no number; correct the key of the column")
    return float(document)


def choose(entries: Sequence[object], key: str) -> object:
    """The first entry of a list with these values: `measure=static,kind=`."""
    wanted = dict(pair.split("=", 1) for pair in key.split(",") if "=" in pair)
    fits = (e for e in entries if isinstance(e, dict) and all(str(e.get(k)) == v for k, v in wanted.items()))
    return next(fits, None) if wanted else None


def find_signature(document: object, key: str) -> tuple[str, str]:
    """The protocol and the signature of a score; "" for other numbers."""
    top, _, rest = key.partition("/")
    if top != "scores" or not isinstance(document, dict):
        return "", ""
    score = document.get("scores", {}).get(rest.partition("/")[0], {})
    return str(document.get("protocol", "")), str(score.get("short", score.get("signature", "")))
