"""fabula cite: the earlier name of `fabula list --cite`."""

from __future__ import annotations

import click

from fabula.verbs.scoring.cite import cite


@click.command("cite", hidden=True)
@click.argument("used", nargs=-1, required=True)
def command(used: tuple[str, ...]) -> None:
    """Print BibTeX of metrics, protocols, or a result of --json.

    \b
    fabula list --cite SODA_c soda-2021
    fabula list --cite out.json >> paper.bib
    """
    click.echo(cite(*used), nl=False)
