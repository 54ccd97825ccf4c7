"""fabula parse: the earlier name of `fabula convert --answers`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from fabula.core.options import MUST, option
from fabula.verbs.building.parse import ParseOptions, parse
from fabula.verbs.terminal.console import Several, print_note, warn
from fabula.verbs.terminal.flags import flags, path_argument, refs_option
from fabula.verbs.terminal.out import check_outputs

KINDS = ("parsed", "deduced", "repaired", "refused", "unparsed")


@dataclass(frozen=True, kw_only=True)
class Outputs(ParseOptions):
    """The options of fabula.parse, and where the events go."""

    out: Path = option(MUST, "Events to write.", "-o", writes=True)


@click.command("parse", cls=Several, hidden=True)
@path_argument("source")
@refs_option(help="Files that hold the durations of the videos.")
@flags(Outputs, into="options")
def command(source: Path, refs: tuple[Path, ...], options: Outputs) -> None:
    """Read free-form answers from SOURCE and write their events.

    \b
    fabula convert --answers answers.jsonl events.jsonl --audit audit.json
    fabula convert --answers answers.jsonl events.jsonl --unit percent --refs val_1.json
    """
    check_outputs([source, *refs], options)
    convert_answers(source, options.out, refs, options)


def convert_answers(source: Path, out: Path, refs: tuple[Path, ...], options: ParseOptions) -> None:
    """Write the events of free-form answers, and say how many were read."""
    parsed = parse(source, out, refs, options=options)
    for line in parsed.warnings:
        warn(line)
    counts = ", ".join(f"{parsed.counts[kind]:,} {kind}" for kind in KINDS)
    print_note(f"{len(parsed.corpus):,} answers → {out}: {counts}")
