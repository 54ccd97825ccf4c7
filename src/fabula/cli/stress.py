"""fabula stress: which metric notices what."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click

from fabula import demo, io
from fabula import metrics as metric_room
from fabula.cli._console import Several, bar, say, tell
from fabula.cli._out import check_outputs, write_json
from fabula.cli._what import check_said, spice_option
from fabula.core import spec
from fabula.core.nouns import Corpus
from fabula.diagnose._changes import CHANGES
from fabula.diagnose.stress import COPIES, default
from fabula.diagnose.stress import stress as put_under_stress
from fabula.report import stress as report
from fabula.stats.bootstrap import Resampling


@click.command("stress", cls=Several)
@click.argument("metrics", nargs=-1)
@click.option("--corpus", "-c", type=click.Path(path_type=Path), help="Reference stories. Default: the bundled ones.")
@click.option("--ways", "-w", help=f"Ways to spoil them, comma separated: {', '.join(CHANGES)}. Default: all.")
@click.option("--copies", type=click.IntRange(1), default=COPIES, show_default=True, help="Spoiled copies of a story.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the copies and of the intervals.")
@click.option("--resamples", type=click.IntRange(1), default=2000, show_default=True, help="Draws of the intervals.")
@spice_option
@click.option("--json", "json_", type=click.Path(path_type=Path), help="Write JSON; - for standard output.")
def command(
    metrics: tuple[str, ...],
    corpus: Path | None,
    ways: str | None,
    copies: int,
    seed: int,
    resamples: int,
    spice: str | None,
    json_: Path | None,
) -> None:
    """Spoil references in known ways and say what is left of each of METRICS: 1 is not noticed.

    \b
    fabula stress
    fabula stress iSPICE SPICE METEOR --ways "swap ids,add id,remove id"
    fabula stress SODA_c METEOR "CIDEr(idf=batch:16)" --seed 1
    fabula stress SODA_c PRF@0.5 --corpus val_1.json --ways shuffle,shift
    """
    check_outputs([corpus], json_=json_)
    check_said("--ways", ways)
    names = [name for given in metrics for name in spec.split(given)] or default()
    metric_room.one_parser(names, spice)
    wanted = [metric_room.metric(name) for name in names]
    metric_room.check_parsing(wanted, spice)
    wanted = metric_room.parsed_by(wanted, spice)
    if corpus is None:
        stories = bundled()
    else:
        stories, notes = io.read(corpus)
        for line in notes.lines():
            say(f"warning: {line}", style="yellow")
    with bar() as progress:
        seen = put_under_stress(
            wanted,
            stories,
            changes=[w.strip() for w in ways.split(",")] if ways else None,
            copies=copies,
            seed=seed,
            ci=Resampling(resamples=resamples, seed=seed),
            progress=progress,
        )
    if json_ and write_json(json_, report.as_json(seen)):
        return
    if sys.stdout.isatty():
        from rich.console import Console

        Console().print(report.rich_tables(seen))
    else:
        tell(report.plain(seen))


def bundled() -> Corpus:
    """The identity-labelled captionsets and both annotators' demo stories."""
    told = dict(io.read(demo.CAPTIONSETS)[0].stories)
    for name, path in demo.REFERENCES.items():
        told |= {f"{v}/{name}": replace(s, id=f"{v}/{name}") for v, s in io.read(path)[0].items()}
    return Corpus(told, name="bundled")
