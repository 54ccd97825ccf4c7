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

    out: Path = option(MUST, "Fill-in file (.csv) or captionsets (.jsonl) to write.", "-o", writes=True)
    sets: Path | None = option(
        None, "Captions of clips: the file of sets (valSets.csv). Default: five consecutive clips of a film."
    )


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
    check_outputs([refs, outputs.sets], outputs)
    built = baseline(kind, refs, outputs.out, sets=outputs.sets, warn=warn)
    labels = [one if isinstance(one, tuple) else None for one in built.values()]
    if None in labels:
        return print_note(f"{len(built):,} captionsets → {outputs.out}")
    print_note(f"{len(built):,} clips, {sum(len(one or ()) for one in labels):,} blanks → {outputs.out}")


fill_refs = refs_option(required=True, help="Fill-in references, or anybody's captionsets.", several=False)


@command.command("same-id")
@fill_refs
@flags(FillIn, into="outputs")
def same_id(refs: Path, outputs: FillIn) -> None:
    """Fill every blank, or every id of captions, with one and the same person.

    \b
    fabula baseline same-id --refs references_val_new.csv -o same.csv
    fabula score same.csv --refs references_val_new.csv --sets valSets.csv --protocol lsmdc-fillin
    fabula baseline same-id --refs captions.jsonl -o same.jsonl
    """
    fill_blanks("same-id", refs, outputs)


@command.command("all-different")
@fill_refs
@flags(FillIn, into="outputs")
def all_different(refs: Path, outputs: FillIn) -> None:
    """Fill every blank, or every id of captions, with a person of its own."""
    fill_blanks("all-different", refs, outputs)
