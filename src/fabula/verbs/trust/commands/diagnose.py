"""fabula diagnose: how much each kind of error costs, and where a system is weak."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fabula.diagnosis.finding import Limits
from fabula.diagnosis.retrieval import Recall
from fabula.evaluate.options import ScoreOptions
from fabula.report import diagnose as report
from fabula.stats.resampling import Resampling
from fabula.verbs.terminal.console import Several, show_progress
from fabula.verbs.terminal.flags import flags, path_argument, refs_option
from fabula.verbs.terminal.out import JsonOutput, Shown, check_outputs, show
from fabula.verbs.trust.diagnose import DRAWS, READING, Explained, diagnose


@click.command("diagnose", cls=Several)
@path_argument("predictions", stdin=True)
@refs_option(required=True)
@flags(ScoreOptions, into="options", only=READING)
@flags(Explained, into="explained")
@flags(Limits, into="limits")
@flags(Recall, into="recall")
@flags(JsonOutput, into="outputs")
@flags(
    Resampling, into="how", defaults={"resamples": DRAWS}, help={"resamples": "Number of resamples of the intervals."}
)
def command(
    predictions: Path,
    refs: tuple[Path, ...],
    options: ScoreOptions,
    explained: Explained,
    limits: Limits,
    recall: Recall,
    outputs: JsonOutput,
    how: Resampling,
) -> None:
    """Report what each kind of error in PREDICTIONS costs.

    Each kind is repaired in turn, and the predictions are scored again.

    \b
    fabula diagnose preds.json --refs val_1.json val_2.json
    fabula diagnose preds.json --refs val_1.json --metric "PRF@0.5" --json why.json
    fabula diagnose rankings.json --refs queries.jsonl --task moments --k 1 --iou 0.7
    """
    check_outputs([predictions, *refs], outputs)
    asked: dict[str, Any] = {"options": options, "explained": explained, "limits": limits, "recall": recall, "how": how}
    with show_progress() as progress:
        seen = diagnose(predictions, refs, **asked, progress=progress)
    shown = Shown(
        document=lambda: report.as_json(seen),
        lines=lambda: report.plain(seen),
        drawn=report.draw_tables(seen),
        warnings=seen.warnings,
    )
    show(shown, outputs.json_)
