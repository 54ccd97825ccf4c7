"""fabula list: what there is, read off the registry."""

from __future__ import annotations

import click

from fabula.api.listing import TABLES, overview, rich_table
from fabula.cli._out import Shown, show
from fabula.report.table import plain_rows


@click.command("list")
@click.argument("what", type=click.Choice(list(TABLES)), required=False)
def command(what: str | None) -> None:
    """List metrics, protocols, formats, tasks, scorers, extractors or readers; without a word, the names of all."""
    table = TABLES[what]() if what else overview()
    show(Shown(document=lambda: table, lines=lambda: plain_rows(*table), drawn=lambda: rich_table(table)))
