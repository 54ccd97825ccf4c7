"""fabula meta: which metric agrees with people?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from fabula.core.errors import SpecError
from fabula.core.options import Options, option, same_as
from fabula.report import meta as report
from fabula.text.judges.options import JudgeOptions
from fabula.verbs.terminal.console import Several, show_progress
from fabula.verbs.terminal.flags import flags, path_argument
from fabula.verbs.terminal.out import LatexOutput, Shown, check_outputs, show, write_forms
from fabula.verbs.trust.meta import MetaOptions, meta


@dataclass(frozen=True, kw_only=True)
class Outputs(Options):
    latex: Path | None = same_as(LatexOutput, "latex")
    json_: Path | None = same_as(LatexOutput, "json_")
    flickr8k: Path | None = option(
        None, "Folder of Flickr8k's judgements, instead of FILES; its captions are scored here."
    )
    crowd: bool = option(False, "Use CrowdFlower's judgements of Flickr8k instead of the experts'.", needs="flickr8k")


@click.command("meta", cls=Several)
@path_argument("files", nargs=-1)
@flags(MetaOptions, into="options", without=("method",))
@flags(JudgeOptions, into="ask")
@flags(Outputs, into="outputs")
def command(files: tuple[Path, ...], options: MetaOptions, ask: JudgeOptions, outputs: Outputs) -> None:
    """Report which metric agrees with people.

    Prints correlations with intervals, and paired tests between metrics.

    FILES are tables of scores, one per system, and last the table of people's answers.

    \b
    fabula meta scores.parquet answers.parquet                      of fabula score --rows and study results --table
    fabula meta blip.parquet pdvc.parquet answers.parquet           a file of scores a system, named as the systems are
    fabula meta --flickr8k DATA/flickr8k_human --statistic tau_c    a published example, scored here
    fabula meta --flickr8k DATA/flickr8k_human -m "METEOR,TextScore(text=judge:fabula)" --judge-replay judge.jsonl
    """
    if outputs.flickr8k is None and len(files) < 2:
        raise SpecError("name tables of scores and, last, that of people's answers; or --flickr8k FOLDER")
    if outputs.flickr8k is not None and files:
        raise SpecError("--flickr8k brings its own scores and judgements; name no other files")
    check_outputs(files, outputs)
    *scores, answers = files or (None, None)
    named = {path.stem: path for path in scores if path is not None}
    if len(named) < len([path for path in scores if path is not None]):
        raise SpecError("two files of scores have the same name; a system is named by its file")
    with show_progress() as progress:
        found = meta(
            None if outputs.flickr8k else named if len(named) > 1 else scores[0],
            answers,
            flickr8k=outputs.flickr8k,
            crowd=outputs.crowd,
            options=options,
            ask=ask,
            progress=progress,
        )
    latex = write_forms((outputs.latex, lambda: report.latex(found)))
    shown = Shown(
        document=lambda: report.as_json(found),
        lines=latex or (lambda: report.plain(found)),
        verbatim=latex is not None,
        warnings=found.notes,
    )
    show(shown, outputs.json_)
