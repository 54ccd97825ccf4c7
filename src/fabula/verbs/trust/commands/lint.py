"""fabula lint: what is odd in a file of annotations or predictions, and a repaired copy of it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import click

from fabula.core.options import option
from fabula.report import lint as report
from fabula.verbs.terminal.console import Several, print_note, warn
from fabula.verbs.terminal.flags import flags, path_argument, refs_option
from fabula.verbs.terminal.out import Shown, check_outputs, show
from fabula.verbs.trust.lint import LintOptions, lint


@dataclass(frozen=True, kw_only=True)
class Outputs(LintOptions):
    """The options of fabula.lint, and what is made of what it found."""

    json_: Path | None = option(None, "Write all findings as JSON; - for standard output.", writes=True)


@click.command("lint", cls=Several)
@path_argument("file", stdin=True)
@refs_option(help="Reference files, for ids and durations.")
@flags(Outputs, into="options")
def command(file: Path, refs: tuple[Path, ...], options: Outputs) -> None:
    """Check FILE for errors. Exit code 1: errors found; 2: FILE cannot be read.

    \b
    fabula lint train.json
    fabula lint train.json --stats
    fabula lint preds.json --refs val_1.json val_2.json --json lint.json --fix repaired.json
    fabula lint boxes.json --refs region_descriptions.json --format coco:xyxy
    fabula lint filled.csv --refs references.csv
    """
    options.check_fix(file)
    check_outputs([file, *refs], options)
    found = lint(file, refs, options=options)
    if found.mended and found.fixed:
        for line in found.mended.lost:
            warn(line)
        print_note(report.deeds(found.mended, found.fixed))
    shown = Shown(
        document=found.to_dict,
        lines=lambda: report.plain(found.report),
        drawn=lambda: report.rich_table(found.report, file),
        after=lambda: [] if found.stats is None else report.list_statistics(found.stats),
    )
    show(shown, options.json_)
    print_note(report.summary(found.report, file, found.format))
    sys.exit(0 if found.sound else 1)
