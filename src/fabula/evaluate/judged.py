"""What is signed of a judge, and what becomes of a judgement that cannot be read.

Where no judgement of several can be read there is no score: the run ends, with a sample of what the model said. Else

failed   zero: it counts 0 · drop: the video or item (with that reference set) that needed it is left out of the mean ·
         raise: the run ends. A metric that has the rule as a parameter `failed` keeps its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fabula.core.errors import InputError, shown
from fabula.core.notes import name_id
from fabula.core.rows import CROWDED, Rows
from fabula.llm.session import Usage
from fabula.metrics.base import Metric

if TYPE_CHECKING:
    from fabula.evaluate.score import Comparison


def sign_judge(
    metric: Metric, name: str, table: Rows, usage: Usage, comparison: Comparison
) -> tuple[Rows, dict[str, object]]:
    """The rows that count, and the facts of the signature; notes and counts say what was spared and what not read."""
    rule, notes, counts = metric.param("failed") or comparison.judge_failed, comparison.notes, comparison.counts
    crowded, unread = table.crowded, usage.unparsed
    failed = [key for key, n in zip(table.keys, crowded.tolist(), strict=True) if n]
    sample = f"; the model said {shown(usage.sample, 100)}" if usage.sample else ""
    if unread > 1 and not usage.parsed:  # one alone may be bad luck: it counts by the rule
        problem = f"none of {unread} judgements can be read{sample}; there is no score"
        raise InputError(problem, field=name, hint="ask a model that answers in the form that the judge asks for")
    if unread and rule == "raise":
        problem = f"{unread} of {usage.calls} judgements cannot be read{sample}"
        hint = "--judge-failed zero counts them as 0, drop leaves out what needed them"
        raise InputError(problem, video=failed[0] if failed else None, noun=table.unit, field=name, hint=hint)
    for key in failed:
        notes.add(UNREAD[rule].replace("{metric}", name), name_id(key), count=0)
    if unread:
        notes.add(UNREAD[rule].replace("{metric}", name), count=unread)
        if sample:
            notes.add(f"{name}: {unread} of {unread + usage.parsed} judgements are unread{sample}")
    if usage.attempts:
        notes.add(ATTEMPTS.replace("{metric}", name), count=usage.attempts)
    spared = f"; {usage.spared} pairs cannot move the number and were not asked" if usage.spared else ""
    notes.add(f"{name}: {usage.calls} judgements by {usage.distinct} calls{spared}")
    spent = {"calls": usage.calls, "asked": usage.distinct, "spared": usage.spared, "unparsed": unread}
    for what, n in spent.items():
        counts[f"judge_{what}"] = counts.get(f"judge_{what}", 0) + n
    if rule == "drop" and failed:
        table = table.take(np.flatnonzero(crowded == 0))
    table = replace(table, columns={n: c for n, c in table.columns.items() if n != CROWDED})  # it speaks of METEOR
    return table, {"model": model_of(metric), **spent, "failed": rule, "record": usage.digest}


def model_of(metric: Metric) -> str:
    """The model that was asked: the metric's own, or that of the run."""
    return metric.judge_session.model_of(str(metric.param("judge") or metric.param("text") or ""))


ATTEMPTS = "{metric}: {n} predicted captions seem to tell the judge what to say; they were shown to it as data"
UNREAD = {
    "zero": "{metric}: {n} judgements cannot be read and count 0 (failed=zero)",
    "drop": "{metric}: {n} judgements cannot be read; what needed them is left out (failed=drop)",
}
