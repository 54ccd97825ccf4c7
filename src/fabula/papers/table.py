"""A table of a paper: rows of command lines, columns of result keys, printed numbers. Read from tables/NAME.toml.

    title, paper, about     what it is
    labels                  headings of the columns that name a row
    steps                   command lines of every row that has none of its own
    columns                 {title, key, step, part, scale, digits}: a number in the JSON that a step writes
    parts                   NAME → variables: rows are run once for each part (a data set beside another)
    rows                    {labels, section, steps, paper, needs, note}; other keys are variables of the command lines
    simulate                verb → options that are added to its command lines on a simulated copy

A command line has {variables} of its part and row, {seed}, {NAME} of a source (sources.toml), and {train}, {predict}
… for what an earlier step wrote; the second of a verb is {score2}. Words in [brackets] are left out on a simulated copy
that lacks the source named in them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError, SpecError
from fabula.core.registry import close_to
from fabula.documents.fields import JsonDict
from fabula.documents.toml import read_toml

FOLDER = Path(__file__).parent / "tables"
PRINTED = re.compile(r"(-?\d+(?:\.(\d+))?)(?:±(\d+(?:\.\d+)?))?")
KNOWN = ("labels", "section", "steps", "paper", "needs", "note", "simulate", "part")  # keys of a row; others: variables


@dataclass(frozen=True, slots=True)
class Printed:
    """A number as the paper prints it."""

    value: float
    sd: float | None
    digits: int
    text: str


@dataclass(frozen=True, slots=True)
class Column:
    """Where a number stands in the JSON that a step writes."""

    title: str
    key: str  # keys joined by /; `name=value,…` chooses an entry of a list; {variables} are the row's
    step: str = ""  # the step that writes it; "": the last one; any: the last one that has it
    part: str = ""  # the part of the table that it belongs to; "": every part
    scale: float = 100.0
    digits: int = 2


@dataclass(frozen=True, slots=True)
class Row:
    """A system of the table: how its numbers are computed, and what the paper prints."""

    labels: tuple[str, ...]
    section: str
    steps: tuple[str, ...]
    paper: tuple[Printed | None, ...]  # a number for each column
    needs: str = ""  # what is absent from this program; "": the row can be run
    note: str = ""
    part: str = ""  # the only part in which it is run
    variables: Mapping[str, str] = field(default_factory=dict)
    simulate: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.section, *self.labels)))


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    title: str
    paper: str
    about: str
    labels: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    parts: Mapping[str, Mapping[str, str]]
    simulate: Mapping[str, str]

    def parts_of(self, row: Row) -> list[str]:
        return [row.part] if row.part else list(self.parts) or [""]

    def select(self, names: Sequence[str]) -> list[int]:
        """The numbers of the rows that are named: by number from 1, or by a part of their name; all for none."""
        if not names:
            return list(range(len(self.rows)))
        chosen: list[int] = []
        for name in names:
            if name.isdecimal() and 1 <= int(name) <= len(self.rows):
                found = [int(name) - 1]
            else:
                found = [i for i, row in enumerate(self.rows) if name.lower() in row.name.lower()]
            if not found:
                every = [row.name for row in self.rows]
                raise SpecError(f"{self.name} has no row {name!r}; {close_to(name, every)}, or numbers from 1")
            chosen += [i for i in found if i not in chosen]
        return sorted(chosen)


@cache
def names() -> list[str]:
    """Every table, by paper and number."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def find_tables(wanted: Sequence[str]) -> list[Table]:
    """The tables that are named: one by its name, all of a paper by the first word, `all`."""
    found: list[str] = []
    for name in wanted:
        fits = [n for n in names() if name in (n, "all") or n.partition("-")[0] == name]
        if not fits:
            raise SpecError(f"no table is called {name!r}; {close_to(name, names())}")
        found += [n for n in fits if n not in found]
    return [load(name) for name in found]


@cache
def load(name: str) -> Table:
    return read_table(FOLDER / f"{name}.toml")


def read_table(path: Path) -> Table:
    """The table of a file; what is wrong with the file is an error that names it."""
    document = read_toml(path)
    try:
        return as_table(path.stem, document)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"not a table of a paper ({error})", file=path, hint="see the other files there") from None


def as_table(name: str, document: JsonDict) -> Table:
    columns = tuple(Column(**column) for column in document["columns"])
    shared = tuple(document.get("steps", ()))
    rows = tuple(as_row(row, shared, len(columns)) for row in document["rows"])
    labels = tuple(document["labels"])
    for row in rows:
        if len(row.labels) != len(labels):
            raise ValueError(f"row {row.name}: {len(row.labels)} labels, {len(labels)} headings")
    parts = {part: as_texts(variables) for part, variables in document.get("parts", {}).items()}
    return Table(
        name=name,
        title=document["title"],
        paper=document["paper"],
        about=document.get("about", ""),
        labels=labels,
        columns=columns,
        rows=rows,
        parts=parts,
        simulate=as_texts(document.get("simulate", {})),
    )


def as_row(row: JsonDict, shared: tuple[str, ...], columns: int) -> Row:
    printed = tuple(map(read_printed, str(row["paper"]).split()))
    if len(printed) != columns:
        raise ValueError(f"row {row['labels']}: {len(printed)} numbers, {columns} columns")
    return Row(
        labels=tuple(row["labels"]),
        section=row.get("section", ""),
        steps=tuple(row.get("steps", () if "needs" in row else shared)),
        paper=printed,
        needs=row.get("needs", ""),
        note=row.get("note", ""),
        part=row.get("part", ""),
        variables=as_texts({name: value for name, value in row.items() if name not in KNOWN}),
        simulate=as_texts(row.get("simulate", {})),
    )


def as_texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in values.items()}


def read_printed(text: str) -> Printed | None:
    """`36.80±1.90`, `29.46`; `-`: the paper prints none."""
    if text == "-":
        return None
    found = PRINTED.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no printed number")
    sd = None if found[3] is None else float(found[3])
    return Printed(float(found[1]), sd, len(found[2] or ""), text.replace("±", " ± "))
