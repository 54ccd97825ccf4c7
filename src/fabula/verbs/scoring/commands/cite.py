"""fabula cite: BibTeX of what was used."""

from __future__ import annotations

import click

from fabula.verbs.scoring.cite import cite


@click.command("cite")
@click.argument("used", nargs=-1, required=True)
def command(used: tuple[str, ...]) -> None:
    """Print BibTeX of metrics, protocols, or a result of --json.

    \b
    fabula cite SODA_c soda-2021
    fabula cite out.json >> paper.bib
    """
    click.echo(cite(*used), nl=False)
