"""fabula convert: one format into another, saying what was fixed and what was lost."""

from __future__ import annotations

from pathlib import Path

import click

from fabula import io
from fabula.cli._console import say
from fabula.cli._out import check_outputs


@click.command("convert")
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--to", required=True, help="Format to write (fabula list formats).")
@click.option("--from", "from_", help="Format to read. Default: known by its shape.")
def command(source: Path, target: Path, to: str, from_: str | None) -> None:
    """Convert SOURCE into TARGET.

    \b
    fabula convert youcookii_annotations_trainval.json yc2.jsonl.gz --to fabula
    """
    check_outputs([source], TARGET=target)
    io.check_name(target, to)
    corpus, notes = io.read(source, from_)
    for line in notes.lines():
        say(f"warning: {line}", style="yellow")
    for line in io.write(corpus, target, to).lines():
        say(f"warning: {line}", style="yellow")
    say(f"{len(corpus):,} videos, {corpus.events:,} events: {corpus.format} → {to} ({target})")
