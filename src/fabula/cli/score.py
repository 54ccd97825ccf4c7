"""fabula score: predictions against references, one table, a signature on each number."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fabula.api.score import score as score_verb
from fabula.cli._console import Several, bar, say, tell
from fabula.cli._out import check_outputs, print_json
from fabula.cli._what import What, check_resampled, resampled, what_to_score
from fabula.core.errors import SpecError
from fabula.core.result import Result
from fabula.io import rows as report_rows
from fabula.io.files import dump_json, write_text
from fabula.report import table
from fabula.stats.bootstrap import Resampling


@click.command("score", cls=Several)
@click.argument("predictions", type=click.Path(path_type=Path))
@what_to_score()
@click.option(
    "--json", "json_", type=click.Path(path_type=Path), help="Write the result as JSON; - for standard output."
)
@click.option("--rows", type=click.Path(path_type=Path), help="Write a row per video (.jsonl, .jsonl.gz, .parquet).")
@click.option("--html", type=click.Path(path_type=Path), help="Write the report as one self-contained page.")
@click.option("--against", type=click.Path(path_type=Path), help="A second system's predictions, compared in --html.")
@click.option("--ci", is_flag=True, help="Give every primary number an interval: a bootstrap over videos.")
@resampled(10_000, "Draws for --ci.")
@click.option("--engine", type=click.Choice(["local", "ray"]), default="local", help="Where it runs. Default: local.")
@click.option("--address", help="A Ray cluster that is there, for --engine ray. Default: one of this machine.")
@click.option("--work", type=click.Path(path_type=Path), help="Score shard by shard in this folder: can be resumed.")
@click.option("--resume", is_flag=True, help="Go on with the run of --work where it broke off.")
def command(
    predictions: Path,
    what: What,
    json_: Path | None,
    rows: Path | None,
    html: Path | None,
    against: Path | None,
    ci: bool,
    how: Resampling,
    engine: str,
    address: str | None,
    work: Path | None,
    resume: bool,
) -> None:
    """Score PREDICTIONS against one or more reference files.

    \b
    fabula score preds.json --refs val_1.json val_2.json
    fabula score preds.json --refs val_1.json --protocol soda-2021 --metrics SODA_c --json out.json
    fabula score a.json --refs val_1.json --html report.html --against b.json
    fabula score caps.json --refs coco_annotations.json --task captions
    fabula score pairs.jsonl --task captions --rows rows.jsonl
    fabula score preds.json --refs val_1.json --ci --seed 1
    fabula score sets.jsonl --refs truth.jsonl --task identity --html report.html
    """
    if rows:
        report_rows.check_suffix(rows)
    check_outputs([predictions, *what["refs"], against, what["sets"]], json_=json_, rows=rows, html=html)
    if not ci:
        check_resampled()
    if against and not html:
        raise SpecError("--against puts a second system on the page; say where with --html")
    where = {"engine": engine, "address": address, "work": work, "resume": resume}
    options: What = {**what, **where, "ci": how if ci else False}
    with bar() as progress:
        result = score_verb(predictions, **options, progress=progress)
        other = score_verb(against, **options, progress=progress) if against else None
    if html and result.predictions is None and result.task in ("dense", "procedure"):
        raise SpecError("the page needs all stories in memory, and these were streamed; write --rows instead")
    if html and result.predictions is None and not result.items:
        raise SpecError(f"the page draws stories and captions; for the task {result.task} write --rows")
    if rows:
        report_rows.write_rows(result.rows, rows)
    if html:
        from fabula.report.html import page

        names = [path.stem for path in (predictions, against) if path]
        title = predictions.name if against is None else f"{predictions.name} and {against.name}"
        write_text(html, [page(result, title, other=other, names=names)])
    if json_ and str(json_) != "-":
        dump_json(json_, result.to_dict(), indent=2)
    show(result, predictions.name, as_json=str(json_) == "-")


def show(result: Result, name: str, as_json: bool = False) -> None:
    """Warnings to standard error; the table to a terminal, plain lines to a pipe."""
    for warning in result.warnings:
        say(f"warning: {warning}", style="yellow")
    if as_json:
        print_json(result.to_dict())
    elif sys.stdout.isatty():
        from rich.console import Console

        Console().print(table.rich_table(result, f"{name} · {result.task} · protocol {result.protocol} · ×100"))
    else:
        tell(table.plain_lines(result))
