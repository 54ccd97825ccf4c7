"""fabula baseline: predictions of systems that see no video."""

from __future__ import annotations

from pathlib import Path

import click

from fabula import io
from fabula.baselines.identity import KINDS
from fabula.baselines.uniform import uniform as cut
from fabula.cli._console import say
from fabula.cli._out import check_outputs
from fabula.core.errors import SpecError
from fabula.core.notes import Notes
from fabula.io.fields import Source
from fabula.io.files import check_path, write_text
from fabula.io.identity import fillin


@click.group("baseline")
def command() -> None:
    """Write the predictions of a system that sees no video."""


@command.command()
@click.option(
    "--refs", "-r", required=True, type=click.Path(path_type=Path), help="Reference file: videos and durations."
)
@click.option("--count", type=int, help="This many segments in every video.")
@click.option("--duration", type=float, help="About this many seconds a segment: ⌈D / duration⌉ equal parts.")
@click.option("--reference-count", is_flag=True, help="As many segments as the reference has.")
@click.option("--raw-duration", is_flag=True, help="Take durations as they are; the paper's table rounds them up.")
@click.option("--refs-format", help="Format of the references. Default: known by its shape.")
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help="Submission file to write.")
def uniform(
    refs: Path,
    count: int | None,
    duration: float | None,
    reference_count: bool,
    raw_duration: bool,
    refs_format: str | None,
    out: Path,
) -> None:
    """Cut every video into equal segments (Batra et al., BMVC 2022).

    \b
    fabula baseline uniform --refs yc2_my_test.json --count 8 -o uniform8.json
    fabula score uniform8.json --refs yc2_my_test.json --protocol pss-2022
    """
    if (count is not None) + (duration is not None) + reference_count != 1:
        raise SpecError("say exactly one of --count, --duration, --reference-count")
    check_outputs([refs], out=out)
    corpus, notes = io.read(refs, refs_format)
    for line in notes.lines():
        say(f"warning: {line}", style="yellow")
    made = cut(corpus, count, duration, reference_count, whole=not raw_duration)
    io.write(made, out, "submission")
    say(f"{len(made):,} videos, {made.events:,} segments → {out}")


def filled(kind: str, refs: Path, out: Path) -> None:
    check_outputs([refs], out=out)
    notes = Notes()
    made = KINDS[kind](fillin.read_references(refs, notes))
    for line in notes.lines():
        say(f"warning: {line}", style="yellow")
    write_text(check_path(out), fillin.write_labels(made, Source(out)))
    say(f"{len(made):,} clips, {sum(map(len, made.values())):,} blanks → {out}")


fill_refs = click.option(
    "--refs", "-r", required=True, type=click.Path(path_type=Path), help="Fill-in references: clips and blanks."
)
fill_out = click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help="Fill-in file to write.")


@command.command("same-id")
@fill_refs
@fill_out
def same_id(refs: Path, out: Path) -> None:
    """Fill every blank with one and the same person.

    \b
    fabula baseline same-id --refs references_val_new.csv -o same.csv
    fabula score same.csv --refs references_val_new.csv --sets valSets.csv --protocol lsmdc-fillin
    """
    filled("same-id", refs, out)


@command.command("all-different")
@fill_refs
@fill_out
def all_different(refs: Path, out: Path) -> None:
    """Fill every blank with a person of its own."""
    filled("all-different", refs, out)
