"""fabula protocols: the same predictions every published evaluator, and why they differ."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import click

from fabula.core.errors import SpecError
from fabula.core.options import Options, option
from fabula.diagnosis.panel import Panel
from fabula.diagnosis.protocols import Compared
from fabula.documents.files import write_text
from fabula.evaluate.options import ScoreOptions
from fabula.report import protocols as report
from fabula.verbs.scoring.protocols import WITHOUT, protocols
from fabula.verbs.terminal.console import Several, show_progress
from fabula.verbs.terminal.flags import flags, path_argument, refs_option
from fabula.verbs.terminal.out import Shown, check_outputs, show


@dataclass(frozen=True, kw_only=True)
class Outputs(Options):
    """What is made of it."""

    json_: Path | None = option(None, "Write JSON; - for standard output.", writes=True)
    readings: Path | None = option(
        None, "Write what every reader finds in each free-form answer, one JSON line per answer.", writes=True
    )


@click.command("protocols", cls=Several)
@path_argument("predictions", stdin=True)
@refs_option()
@flags(ScoreOptions, into="options", without=WITHOUT)
@flags(Compared, into="compared")
@flags(Outputs, into="outputs")
def command(
    predictions: Path, refs: tuple[Path, ...], options: ScoreOptions, compared: Compared, outputs: Outputs
) -> None:
    """Score PREDICTIONS under every published protocol that applies.

    The default comes first; the lines below the table explain why the others differ.

    \b
    fabula protocols preds.json --refs val_1.json val_2.json
    fabula protocols preds.json --refs val_1.json --explain soda-2021 vid2seq
    fabula protocols answers.jsonl --refs queries.jsonl --readings readings.jsonl
    fabula protocols boxes.json --refs region_descriptions.json --task regions
    fabula protocols filled.csv --refs references.csv --sets valSets.csv --task identity
    fabula protocols preds.json --refs val_1.json --judges judge.jsonl other.jsonl
    """
    check_outputs([predictions, *refs, options.sets, *compared.judges], outputs)
    with show_progress() as progress:
        seen = protocols(predictions, refs, options=options, compared=compared, progress=progress)
    if isinstance(seen, Panel):
        from fabula.report import judges

        own = seen
        told = Shown(
            document=lambda: judges.panel_json(own),
            lines=lambda: judges.panel(own),
            after=lambda: judges.differences(own),
            warnings=own.warnings,
        )
        return show(told, outputs.json_)
    overview, explain = seen, compared.explain
    shown = Shown(
        document=lambda: report.as_json(overview),
        lines=lambda: report.explained(overview, *explain) if explain else report.plain(overview),
        drawn=None if explain else lambda: report.rich_table(overview),
        after=tuple if explain else lambda: report.reasons(overview),
        warnings=overview.warnings,
    )
    if outputs.readings is not None:
        if seen.readings is None:
            raise SpecError("--readings: the predictions hold no free-form answers")
        write_text(outputs.readings, (json.dumps(line, ensure_ascii=False) + "\n" for line in seen.readings.lines()))
    show(shown, outputs.json_)
