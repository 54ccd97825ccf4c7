"""fabula demo: the bundled stories scored, so that the metrics can be seen to disagree."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fabula import demo as bundled
from fabula.api.score import score
from fabula.cli._console import bar, say, tell
from fabula.core.errors import InputError
from fabula.core.result import Result
from fabula.io import rows
from fabula.io.files import dump_json, write_text
from fabula.report import table
from fabula.report.html import page


@click.command("demo")
@click.option(
    "--out", "-o", type=click.Path(path_type=Path), default=Path("demo-report"), help="Folder for the reports."
)
@click.option("--metrics", "-m", help="Metrics, comma separated. Default: all of dense video captioning.")
def command(out: Path, metrics: str | None) -> None:
    """Score three systems on the bundled demo corpus and write their reports.

    The stories are our own: 15 short videos told by two annotators, and three systems that fail in different ways.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made ({error.strerror})", file=out, hint="choose another --out") from None
    results: dict[str, Result] = {}
    with bar() as progress:
        for name, path in bundled.SYSTEMS.items():
            results[name] = score(path, list(bundled.REFERENCES.values()), metrics=metrics, progress=progress)
    for name, result in results.items():
        for warning in result.warnings:
            say(f"warning: {name}: {warning}", style="yellow")
        dump_json(out / f"{name}.json", result.to_dict(), indent=2)
        rows.write_rows(result.rows, out / f"{name}.rows.jsonl")
        write_text(out / f"{name}.html", [page(result, f"Fabula demo: {name}")])
    if sys.stdout.isatty():
        from rich.console import Console

        Console().print(
            table.rich_comparison(results, "Three systems, 15 stories · primary number of each metric ×100")
        )
    else:
        tell(table.plain_comparison(results))
    say(f"reports in {out}/: open {out}/{next(iter(results))}.html")
