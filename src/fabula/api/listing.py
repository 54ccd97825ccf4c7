"""What there is, as tables: metrics, protocols, formats, tasks, scorers, extractors, faces, readers; the registry."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fabula import metrics, text
from fabula.io import all_formats
from fabula.io.answers.readers import READERS
from fabula.protocols import room as protocol_room
from fabula.score import room as task_room

if TYPE_CHECKING:
    from rich.table import Table as RichTable

Table = tuple[Sequence[str], list[list[str]]]


def first_line(thing: object) -> str:
    module = sys.modules[getattr(thing, "__module__", "")]
    return (module.__doc__ or "").strip().splitlines()[0]


def metric_table() -> Table:
    rows = [
        [str(cls()), ", ".join(cls.tasks), cls.paper, first_line(cls), cls.below_one or "1"]
        for cls in metrics.room.all()
    ]
    return ("metric", "tasks", "paper", "what it is", "a copy of the references scores 1, or when not"), rows


def protocol_table() -> Table:
    rows = [
        [p.name, p.task, ", ".join(m.title for m in p.metrics), p.paper, p.repository, p.commit]
        for p in protocol_room.all()
    ]
    return ("protocol", "task", "metrics", "paper", "source", "commit"), rows


def format_table() -> Table:
    rows = [
        [r.name, ", ".join(r.tasks), r.holds, r.pattern, "yes" if r.write else "no", r.about, visible(r.example)]
        for r in all_formats()
    ]
    return ("format", "tasks", "holds", "file", "written", "what it is", "example"), rows


def visible(text: str) -> str:
    """Tabs and line ends as \\t and \\n: a line of output is a line."""
    return text.replace("\t", "\\t").replace("\n", "\\n")


def scorer_table() -> Table:
    rows = [[s.name, s.version, first_line(type(s))] for s in text.room.all()]
    return ("scorer", "version", "what it is"), rows


def task_table() -> Table:
    return ("task", "what it is"), [[t.name, t.about] for t in task_room.all()]


def extractor_table() -> Table:
    from fabula.features.extractors import all_extractors

    rows = [
        [e.name, "a file of yours" if e.needs_weights else "brought along", e.licence, first_line(e)]
        for e in all_extractors()
    ]
    return ("extractor", "weights", "licence of the weights", "what it is"), rows


def face_table() -> Table:
    from fabula.features.people.detectors import room as detectors
    from fabula.features.people.embedders import room as embedders

    rows = [
        [one.name, room.noun, one.licence, first_line(one)] for room in (detectors, embedders) for one in room.all()
    ]
    return ("name", "kind", "licence of the weights", "what it is"), rows


def reader_table() -> Table:
    rows = [[r.name, r.about, r.repository or "ours", r.commit] for r in READERS.all()]
    return ("reader", "what it reads as a window", "repository", "commit"), rows


TABLES: dict[str, Callable[[], Table]] = {
    "metrics": metric_table,
    "protocols": protocol_table,
    "formats": format_table,
    "scorers": scorer_table,
    "tasks": task_table,
    "extractors": extractor_table,
    "faces": face_table,
    "readers": reader_table,
}


def rich_table(table: Table) -> RichTable:
    """For a terminal. An example, too wide for a column of its own, stands below what it shows."""
    from rich.table import Table as RichTable
    from rich.text import Text

    head, rows = table
    if head[-1] == "example":
        head, rows = head[:-1], [[*row[:-2], f"{row[-2]}\n{row[-1]}"] for row in rows]
    drawn = RichTable(box=None, pad_edge=False, header_style="dim")
    for i, column in enumerate(head):
        drawn.add_column(column, style="bold" if i == 0 else None, overflow="fold")
    for row in rows:
        drawn.add_row(*map(Text, row))
    return drawn
