"""fabula diagnose: how much each kind of error costs, and where a system is weak."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from fabula.cli._console import Several, bar, say, tell
from fabula.cli._out import check_outputs, write_json
from fabula.cli._what import What, resampled, spice_option, what_to_score
from fabula.core.errors import SpecError
from fabula.diagnose.errors import Limits, errors
from fabula.diagnose.retrieval import retrieval
from fabula.report import diagnose as report
from fabula.stats.bootstrap import Resampling

DEFAULT = Limits()


@click.command("diagnose", cls=Several)
@click.argument("predictions", type=click.Path(path_type=Path))
@what_to_score("refs", "repair", "format", "refs_format", required=True)
@click.option("--task", type=click.Choice(["stories", "moments"]), default="stories", help="moments: rankings.")
@click.option("--metric", "-m", help="The score to explain. Default: SODA_c; SODA_d where there are no captions.")
@spice_option
@click.option("--near", type=float, default=DEFAULT.near, show_default=True, help="IoU of a pair at least.")
@click.option("--right", type=float, default=DEFAULT.right, show_default=True, help="IoU of a well located pair.")
@click.option("--inside", type=float, default=DEFAULT.inside, show_default=True, help="Share that makes a piece.")
@click.option("--words", type=float, default=DEFAULT.words, show_default=True, help="Caption score of right words.")
@click.option(
    "--matching", type=click.Choice(["greedy", "ordered"]), default="greedy", show_default=True, help="Pairs."
)
@click.option("--k", type=click.IntRange(1), default=1, show_default=True, help="Task moments: the k of R@k.")
@click.option("--iou", type=float, default=0.5, show_default=True, help="Task moments: IoU of a right answer.")
@click.option("--json", "json_", type=click.Path(path_type=Path), help="Write JSON; - for standard output.")
@resampled(2000, "Draws of the intervals.")
def command(
    predictions: Path,
    what: What,
    task: str,
    metric: str | None,
    spice: str | None,
    near: float,
    right: float,
    inside: float,
    words: float,
    matching: str,
    k: int,
    iou: float,
    json_: Path | None,
    how: Resampling,
) -> None:
    """Say what each kind of error in PREDICTIONS costs, by repairing it and scoring again.

    \b
    fabula diagnose preds.json --refs val_1.json val_2.json
    fabula diagnose preds.json --refs val_1.json --metric "PRF@0.5" --json why.json
    fabula diagnose rankings.json --refs queries.jsonl --task moments --k 1 --iou 0.7
    """
    check_outputs([predictions, *what["refs"]], json_=json_)
    limits = Limits(
        near=near, right=right, inside=inside, words=words, matching="ordered" if matching == "ordered" else "greedy"
    )
    if task == "moments":
        if metric or spice:
            raise SpecError("for moments the score is R@k at an IoU: say --k and --iou")
        files = {name: what[name] for name in ("refs", "format", "refs_format")}
        with bar() as progress:
            found = retrieval(predictions, **files, k=k, iou=iou, ci=how, progress=progress)
        show(found.warnings, report.retrieval_json(found), report.retrieval_plain(found), json_)
        return
    with bar() as progress:
        seen = errors(predictions, **what, metric=metric, spice=spice, limits=limits, ci=how, progress=progress)
    drawn = report.rich_tables(seen) if sys.stdout.isatty() else None
    show(seen.warnings, report.as_json(seen), report.plain(seen), json_, drawn)


def show(
    warnings: tuple[str, ...], content: dict[str, Any], lines: Iterator[str], json_: Path | None, drawn: Any = None
) -> None:
    """Warnings to standard error; JSON to a file or alone to standard output; else tables or plain lines."""
    for warning in warnings:
        say(f"warning: {warning}", style="yellow")
    if json_ and write_json(json_, content):
        return
    if drawn is not None:
        from rich.console import Console

        Console().print(drawn)
    else:
        tell(lines)
