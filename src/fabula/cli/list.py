"""fabula list: what there is, read off the registry."""

from __future__ import annotations

import click

from fabula.api.listing import TABLES, rich_table
from fabula.cli._out import Shown, show
from fabula.report.table import plain_rows


@click.command("list")
@click.argument("what", type=click.Choice(list(TABLES)))
def command(what: str) -> None:
    """List metrics, protocols, formats, tasks, caption scorers, extractors, face adapters or readers of answers."""
    table = TABLES[what]()
    show(Shown(document=lambda: table, lines=lambda: plain_rows(*table), drawn=lambda: rich_table(table)))
