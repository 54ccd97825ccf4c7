"""fabula convert: one format into another, saying what was fixed and what was lost."""

from __future__ import annotations

from pathlib import Path

import click

from fabula.verbs.building.convert import ConvertOptions, convert
from fabula.verbs.terminal.console import print_note, warn
from fabula.verbs.terminal.flags import flags, path_argument
from fabula.verbs.terminal.out import check_outputs


@click.command("convert")
@path_argument("source")
@path_argument("target")
@flags(ConvertOptions, into="options")
def command(source: Path, target: Path, options: ConvertOptions) -> None:
    """Convert SOURCE into TARGET.

    \b
    fabula convert youcookii_annotations_trainval.json yc2.jsonl.gz
    fabula convert preds.jsonl submission.json --to submission
    """
    check_outputs([source], TARGET=target)
    done = convert(source, target, options=options)
    for line in done.warnings:
        warn(line)
    corpus = done.corpus
    print_note(f"{len(corpus):,} videos, {corpus.events:,} events: {corpus.format} → {done.to} ({target})")
