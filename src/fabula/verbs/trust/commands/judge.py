"""fabula judge: is a judge to be relied on?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import click

from fabula.core.options import Options, option
from fabula.diagnosis.attacks import AttackOptions
from fabula.diagnosis.judges import CheckOptions
from fabula.report import judges as report
from fabula.stats.resampling import Resampling
from fabula.text.judges.options import JudgeOptions
from fabula.verbs.terminal.console import Several, VerbGroup, show_progress
from fabula.verbs.terminal.flags import flags, path_argument, refs_option
from fabula.verbs.terminal.out import JsonOutput, Shown, check_outputs, show
from fabula.verbs.trust import judge as api

UNREAD = ("judge_failed",)  # of JudgeOptions: here an unread judgement is counted, and belongs to no mean


@dataclass(frozen=True, kw_only=True)
class PlanFlags(Options):
    """What a check costs, before it is made."""

    plan: bool = option(False, "Count calls, tokens and cost; ask nothing.")
    price: tuple[str, ...] = option(
        (), "IN/OUT for a million tokens, or MODEL=IN/OUT, for --plan.", parts=True, metavar="IN/OUT", needs="plan"
    )


@click.group("judge", cls=VerbGroup)
def command() -> None:
    """Check how reliable a language model is as a judge.

    More in docs/judges.md.

    \b
    fabula judge check pairs.jsonl --judge-url http://127.0.0.1:8000/v1 --judge-model M --judge-record judge.jsonl
    fabula judge check preds.json --refs val_1.json --judge-replay judge.jsonl
    fabula judge stress pairs.jsonl --judge-url http://127.0.0.1:8000/v1 --judge-model M
    fabula list judges
    """


@command.command(cls=Several)
@path_argument("predictions")
@refs_option()
@flags(CheckOptions, into="options")
@flags(JudgeOptions, into="ask", without=UNREAD)
@flags(Resampling, into="how", help={"resamples": "Number of resamples of videos or items."})
@flags(PlanFlags, into="plan")
@flags(JsonOutput, into="out")
def check(
    predictions: Path,
    refs: tuple[Path, ...],
    options: CheckOptions,
    ask: JudgeOptions,
    how: Resampling,
    plan: PlanFlags,
    out: JsonOutput,
) -> None:
    """Ask a judge about the same pairs again, in another order and wording.

    Reports repeatability, agreement and shifts, with intervals.

    PREDICTIONS hold pairs with their references; otherwise name --refs.

    \b
    fabula judge check pairs.jsonl --judge-url fake
    fabula judge check pairs.jsonl --judge-url http://127.0.0.1:8000/v1 --judge-model A --plan --price 0.15/0.60
    fabula judge check preds.json --refs val_1.json --judge-replay judge.jsonl --records second.jsonl
    fabula judge check pairs.jsonl --judge-url http://127.0.0.1:8000/v1 --judge-model A --against fabula@B,fabula-brief
    """
    read = [predictions, *refs, ask.judge_replay, *options.records]
    check_outputs(read, out, **{"--judge-record": ask.judge_record})
    if plan.plan:
        found = api.plan(predictions, refs, options=options, ask=ask, how=how, price=plan.price)
        show(Shown(document=lambda: asdict(found), lines=lambda: report.planned(found)), out.json_)
        return
    with show_progress() as progress:
        seen = api.check(predictions, refs, options=options, ask=ask, how=how, progress=progress)
    shown = Shown(
        document=lambda: report.checked_json(seen), lines=lambda: report.checked(seen), warnings=seen.warnings
    )
    show(shown, out.json_)


@command.command(cls=Several)
@path_argument("predictions")
@refs_option()
@flags(AttackOptions, into="options")
@flags(JudgeOptions, into="ask", without=UNREAD)
@flags(Resampling, into="how", help={"resamples": "Number of resamples of videos or items."})
@flags(JsonOutput, into="out")
def stress(
    predictions: Path,
    refs: tuple[Path, ...],
    options: AttackOptions,
    ask: JudgeOptions,
    how: Resampling,
    out: JsonOutput,
) -> None:
    """Measure how much captions gain by padding or by instructing the judge.

    \b
    fabula judge stress pairs.jsonl --judge-url fake:
    fabula judge stress preds.json --refs val_1.json --judge-url http://127.0.0.1:8000/v1 --judge-model M --most 50
    fabula judge stress pairs.jsonl --judge-replay judge.jsonl --ways order,fence --against fabula-brief
    """
    check_outputs([predictions, *refs, ask.judge_replay], out, **{"--judge-record": ask.judge_record})
    with show_progress() as progress:
        seen = api.stress(predictions, refs, options=options, ask=ask, how=how, progress=progress)
    shown = Shown(
        document=lambda: report.attacked_json(seen), lines=lambda: report.attacked(seen), warnings=seen.warnings
    )
    show(shown, out.json_)
