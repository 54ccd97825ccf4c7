"""fabula demo: the bundled stories scored, so that the metrics can be seen to disagree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from fabula import demo as bundled
from fabula.core.errors import InputError
from fabula.core.options import Options, option
from fabula.documents import rows
from fabula.documents.files import write_text
from fabula.report import table
from fabula.verbs.scoring.score import score
from fabula.verbs.terminal.console import print_note, show_progress
from fabula.verbs.terminal.flags import flags
from fabula.verbs.terminal.out import Shown, make_folder, show, write_json, write_page

TITLE = "Three systems, 15 stories · primary number of each metric ×100"


@dataclass(frozen=True, kw_only=True)
class DemoOptions(Options):
    """What is shown, and where the reports go."""

    copy: Path | None = option(None, "Write the input files into this folder and score nothing.")
    out: Path = option(Path("demo-report"), "Folder for the reports.", "-o")
    metrics: str | None = option(None, "Metrics, comma separated. Default: all of dense video captioning.", "-m")


def copy_inputs(folder: Path) -> None:
    """Every input as a file of one's own; a file that is there and differs is somebody's work, and stays."""
    make_folder(folder)
    texts = {path.name: path.read_text(encoding="utf-8") for path in bundled.inputs()}
    for name, text in texts.items():
        there = folder / name
        if there.exists() and (not there.is_file() or there.read_bytes() != text.encode()):
            raise InputError(
                "exists already, and is not the demo's", file=there, hint="name another folder with --copy"
            )
    for name, text in texts.items():
        write_text(folder / name, [text])
    print_note(f"{len(texts)} files in {folder}/: {', '.join(texts)}")


@click.command("demo")
@flags(DemoOptions, into="options")
def command(options: DemoOptions) -> None:
    """Score three bundled systems and write their reports.

    The stories were written for Fabula: 15 short videos, two annotators, three systems with different errors.

    \b
    fabula demo                     three reports in demo-report/
    fabula demo --copy tour         the input files, to try everything else on (docs/tutorial.md)
    """
    if options.copy is not None:
        copy_inputs(options.copy)
        return
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
