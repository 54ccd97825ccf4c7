"""fabula list: what there is, read off the registry."""

from __future__ import annotations

import click

from fabula.core.errors import SpecError
from fabula.report.table import plain_rows
from fabula.verbs.scoring.cite import cite
from fabula.verbs.scoring.listing import TABLES, overview, rich_table
from fabula.verbs.terminal.console import Several
from fabula.verbs.terminal.out import Shown, show


@click.command("list", cls=Several)
@click.argument("what", type=click.Choice(list(TABLES)), required=False, metavar="[WHAT]")
@click.option(
    "--cite", "cited", multiple=True, metavar="NAME", help="Print BibTeX of metrics, protocols or results (.json)."
)
def command(what: str | None, cited: tuple[str, ...]) -> None:
    """List metrics, protocols, formats, tasks, models and the rest.

    WHAT is metrics, protocols, formats, scorers, judges, tasks, extractors, embedders, faces, frames (which frames a
    harness sends), layouts, readers, training, models or settings (what --set takes for each model, and the values of
    its paper); without WHAT, the names of all.

    \b
    fabula list metrics
    fabula list --cite SODA_c soda-2021
    fabula list --cite out.json >> paper.bib
    """
    if cited:
        if what:
            raise SpecError("--cite prints BibTeX, not a table; leave WHAT out")
        click.echo(cite(*cited), nl=False)
        return
    warnings: list[str] = []
    table = TABLES[what](warnings.append) if what else overview(warnings.append)
    lines = lambda: plain_rows(*table)  # noqa: E731
    show(Shown(document=lambda: table, lines=lines, drawn=lambda: rich_table(table), warnings=warnings))
