"""fabula baseline: predictions of systems that see no video."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from fabula.core.options import MUST, Options, option
from fabula.verbs.scoring.baseline import UniformOptions, baseline, find_average
from fabula.verbs.terminal.console import VerbGroup, print_note, warn
from fabula.verbs.terminal.flags import flags, refs_option
from fabula.verbs.terminal.out import check_outputs


@dataclass(frozen=True, kw_only=True)
class Submission(Options):
    """Where segments go."""

    out: Path = option(MUST, "Submission file to write.", "-o", writes=True)


@dataclass(frozen=True, kw_only=True)
class FillIn(Options):
    """Where filled blanks go."""

    out: Path = option(MUST, "Fill-in file to write.", "-o", writes=True)


@click.group("baseline", cls=VerbGroup)
def command() -> None:
    """Write the predictions of a system that sees no video."""


@command.command()
@refs_option(required=True, help="Reference file: videos and durations.", several=False)
@flags(UniformOptions, into="options")
@flags(Submission, into="outputs")
def uniform(refs: Path, options: UniformOptions, outputs: Submission) -> None:
    """Cut every video into equal segments (Batra et al., BMVC 2022).

    \b
    fabula baseline uniform --refs yc2_my_test.json --count 8 -o uniform8.json
    fabula baseline uniform --refs yc2_my_test.json --average duration --train trainval.json -o uniform20s.json
    fabula score uniform8.json --refs yc2_my_test.json --protocol pss-2022
    """
    check_outputs([refs, *([options.train] if options.train else [])], outputs)
    options, source = find_average(refs, options)
    if source:
        print_note(source)
    built = baseline("uniform", refs, outputs.out, options=options, warn=warn)
    print_note(f"{len(built):,} videos, {built.events:,} segments → {outputs.out}")


def fill_blanks(kind: Literal["same-id", "all-different"], refs: Path, outputs: FillIn) -> None:
    check_outputs([refs], outputs)
    built = baseline(kind, refs, outputs.out, warn=warn)
    print_note(f"{len(built):,} clips, {sum(map(len, built.values())):,} blanks → {outputs.out}")


fill_refs = refs_option(required=True, help="Fill-in references: clips and blanks.", several=False)


@command.command("same-id")
@fill_refs
@flags(FillIn, into="outputs")
def same_id(refs: Path, outputs: FillIn) -> None:
    """Fill every blank with one and the same person.

    \b
    fabula baseline same-id --refs references_val_new.csv -o same.csv
    fabula score same.csv --refs references_val_new.csv --sets valSets.csv --protocol lsmdc-fillin
    """
    fill_blanks("same-id", refs, outputs)


@command.command("all-different")
@fill_refs
@flags(FillIn, into="outputs")
def all_different(refs: Path, outputs: FillIn) -> None:
    """Fill every blank with a person of its own."""
    fill_blanks("all-different", refs, outputs)
