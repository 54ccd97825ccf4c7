"""fabula list: what there is, read off the registry."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import click

from fabula import io, metrics, protocols, tasks, text
from fabula.cli._console import tell
from fabula.io import moments
from fabula.report.table import plain_rows

Table = tuple[Sequence[str], list[list[str]]]


def first_line(thing: object) -> str:
    module = sys.modules[getattr(thing, "__module__", "")]
    return (module.__doc__ or "").strip().splitlines()[0]


def metric_table() -> Table:
    rows = [[str(cls()), ", ".join(cls.tasks), cls.paper, first_line(cls)] for cls in metrics.room.all()]
    return ("metric", "tasks", "paper", "what it is"), rows


def protocol_table() -> Table:
    rows = [
        [p.name, p.task, ", ".join(str(m.name) for m in p.metrics), p.paper, f"{p.repository}@{p.commit}"]
        for p in protocols.room.all()
    ]
    return ("protocol", "task", "metrics", "paper", "source"), rows


def format_table() -> Table:
    rows = [[f.name, f.holds, "yes" if f.write else "no", f.about] for f in io.formats()]
    rows += [[f.name, f.holds, "no", f.about] for f in moments.formats()]
    return ("format", "holds", "written", "what it is"), rows


def scorer_table() -> Table:
    rows = [[s.name, s.version, first_line(type(s))] for s in text.room.all()]
    return ("scorer", "version", "what it is"), rows


def task_table() -> Table:
    return ("task", "what it is"), [[t.name, t.about] for t in tasks.room.all()]


TABLES: dict[str, Callable[[], Table]] = {
    "metrics": metric_table,
    "protocols": protocol_table,
    "formats": format_table,
    "scorers": scorer_table,
    "tasks": task_table,
}


@click.command("list")
@click.argument("what", type=click.Choice(list(TABLES)))
def command(what: str) -> None:
    """List metrics, protocols, formats, tasks or caption scorers."""
    head, rows = TABLES[what]()
    if not sys.stdout.isatty():
        tell(plain_rows(head, rows))
        return
    from rich.console import Console
    from rich.table import Table as RichTable

    table = RichTable(box=None, pad_edge=False, header_style="dim")
    for i, column in enumerate(head):
        table.add_column(column, style="bold" if i == 0 else None, overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console().print(table)
