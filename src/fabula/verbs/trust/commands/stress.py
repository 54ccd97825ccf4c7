"""fabula stress: which metric notices what."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from fabula.core.options import Options, option
from fabula.diagnosis.stress import StressOptions
from fabula.report import stress as report
from fabula.text.judges.options import JudgeOptions
from fabula.verbs.terminal.console import Several, show_progress
from fabula.verbs.terminal.flags import flags
from fabula.verbs.terminal.out import Shown, check_outputs, show
from fabula.verbs.trust.stress import WITHOUT, stress


@dataclass(frozen=True, kw_only=True)
class Files(Options):
    """What is read and written."""

    corpus: Path | None = option(None, "File of reference stories or captionsets. Default: the bundled ones.", "-c")
    json_: Path | None = option(None, "Write JSON; - for standard output.", writes=True)


@click.command("stress", cls=Several)
@click.argument("metrics", nargs=-1)
@flags(StressOptions, into="options")
@flags(JudgeOptions, into="ask", without=WITHOUT)
@flags(Files, into="files")
def command(metrics: tuple[str, ...], options: StressOptions, ask: JudgeOptions, files: Files) -> None:
    """Perturb references and report how each metric reacts.

    The ways are controlled; the table shows how much of each of METRICS remains: 1 means that the metric did not react.

    \b
    fabula stress
    fabula stress iSPICE SPICE METEOR --ways "swap ids,add id,remove id"
    fabula stress SODA_c METEOR "CIDEr(idf=batch:16)" --seed 1
    fabula stress METEOR "METEOR(missing=drop)" --ways refuse
    fabula stress iSPICE METEOR --corpus LSMDC16_annos_val.csv --sets valSets.csv --ways "swap ids,add id,remove id"
    fabula stress SODA_c PRF@0.5 --corpus val_1.json --ways shuffle,shift
    fabula stress "SODA_c(text=judge:fabula)" --judge-url http://127.0.0.1:8000/v1 --judge-model M
    """
    check_outputs([files.corpus, options.sets], files)
    with show_progress() as progress:
        found = stress(metrics, files.corpus, options=options, ask=ask, progress=progress)
    shown = Shown(
        document=lambda: report.as_json(found),
        lines=lambda: report.plain(found),
        drawn=lambda: report.rich_tables(found),
        warnings=found.warnings,
    )
    show(shown, files.json_)
