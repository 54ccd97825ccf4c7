"""fabula diagnose: how much each kind of error costs, and where a system is weak."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fabula.cli._console import Several, bar, say, tell
from fabula.diagnose.errors import Limits, errors
from fabula.io._files import dump_json
from fabula.io.segments import REPAIRS
from fabula.report import diagnose as report
from fabula.stats.bootstrap import METHODS, Method, Resampling

DEFAULT = Limits()


@click.command("diagnose", cls=Several)
@click.argument("predictions", type=click.Path(path_type=Path))
@click.option("--refs", "-r", multiple=True, required=True, type=click.Path(path_type=Path), help="Reference file(s).")
@click.option("--metric", "-m", help="The score to explain. Default: SODA_c; SODA_d where there are no captions.")
@click.option("--near", type=float, default=DEFAULT.near, show_default=True, help="IoU of a pair at least.")
@click.option("--right", type=float, default=DEFAULT.right, show_default=True, help="IoU of a well located pair.")
@click.option("--inside", type=float, default=DEFAULT.inside, show_default=True, help="Share that makes a piece.")
@click.option("--words", type=float, default=DEFAULT.words, show_default=True, help="Caption score of right words.")
@click.option(
    "--matching", type=click.Choice(["greedy", "ordered"]), default="greedy", show_default=True, help="Pairs."
)
@click.option("--json", "json_", type=click.Path(path_type=Path), help="Write JSON; - for standard output.")
@click.option("--resamples", type=click.IntRange(1), default=2000, show_default=True, help="Draws of the intervals.")
@click.option("--seed", type=int, default=0, show_default=True, help="The seed of the draws.")
@click.option("--level", type=float, default=0.95, show_default=True, help="The level of the intervals.")
@click.option("--method", type=click.Choice(METHODS), default="bca", show_default=True, help="Kind of interval.")
@click.option("--repair", help=f"What to do with malformed reference segments: {', '.join(REPAIRS)}; several in order.")
@click.option("--format", help="Format of the predictions. Default: known by its shape.")
@click.option("--refs-format", help="Format of the references. Default: known by its shape.")
def command(
    predictions: Path,
    refs: tuple[Path, ...],
    metric: str | None,
    near: float,
    right: float,
    inside: float,
    words: float,
    matching: str,
    json_: Path | None,
    resamples: int,
    seed: int,
    level: float,
    method: str,
    repair: str | None,
    format: str | None,
    refs_format: str | None,
) -> None:
    """Say what each kind of error in PREDICTIONS costs, by repairing it and scoring again.

    \b
    fabula diagnose preds.json --refs val_1.json val_2.json
    fabula diagnose preds.json --refs val_1.json --metric "PRF@0.5" --json why.json
    """
    limits = Limits(
        near=near, right=right, inside=inside, words=words, matching="ordered" if matching == "ordered" else "greedy"
    )
    kind: Method = "percentile" if method == "percentile" else "bca"
    with bar() as progress:
        seen = errors(
            predictions,
            list(refs),
            metric=metric,
            limits=limits,
            ci=Resampling(method=kind, level=level, resamples=resamples, seed=seed),
            repair=[r.strip() for r in repair.split(",")] if repair else (),
            format=format,
            refs_format=refs_format,
            progress=progress,
        )
    for warning in seen.warnings:
        say(f"warning: {warning}", style="yellow")
    if json_ and str(json_) == "-":
        import json

        click.echo(json.dumps(report.as_json(seen), ensure_ascii=True, indent=2))
        return
    if json_:
        dump_json(json_, report.as_json(seen), indent=2)
    if sys.stdout.isatty():
        from rich.console import Console

        Console().print(report.rich_tables(seen))
    else:
        tell(report.plain(seen))
