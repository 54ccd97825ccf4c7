"""fabula demo: the bundled stories scored, so that the metrics can be seen to disagree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from fabula import demo as bundled
from fabula.api.score import score
from fabula.cli._console import print_note, show_progress
from fabula.cli._options import flags
from fabula.cli._out import Shown, make_folder, show, write_json, write_page
from fabula.core.options import Options, option
from fabula.io import rows
from fabula.report import table

TITLE = "Three systems, 15 stories · primary number of each metric ×100"


@dataclass(frozen=True, kw_only=True)
class DemoOptions(Options):
    """What is shown, and where the reports go."""

    out: Path = option(Path("demo-report"), "Folder for the reports.", "-o")
    metrics: str | None = option(None, "Metrics, comma separated. Default: all of dense video captioning.", "-m")


@click.command("demo")
@flags(DemoOptions, into="options")
def command(options: DemoOptions) -> None:
    """Score three systems on the bundled demo corpus and write their reports.

    The stories are our own: 15 short videos told by two annotators, and three systems that fail in different ways.
    """
    make_folder(options.out)
    refs = list(bundled.REFERENCES.values())
    with show_progress() as progress:
        results = {
            name: score(path, refs, metrics=options.metrics, progress=progress)
            for name, path in bundled.SYSTEMS.items()
        }
    for name, result in results.items():
        write_json(options.out / f"{name}.json", result.to_dict)
        rows.write_rows(result.rows, options.out / f"{name}.rows.jsonl")
        write_page(options.out / f"{name}.html", [result], [bundled.SYSTEMS[name]], f"Fabula demo: {name}")
    shown = Shown(
        document=lambda: {name: result.to_dict() for name, result in results.items()},
        lines=lambda: table.plain_comparison(results),
        drawn=lambda: table.rich_comparison(results, TITLE),
        warnings=[f"{name}: {line}" for name, result in results.items() for line in result.warnings],
    )
    show(shown)
    print_note(f"reports in {options.out}/: open {options.out}/{next(iter(results))}.html")
