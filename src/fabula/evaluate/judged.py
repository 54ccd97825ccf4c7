"""A scoring that asks a judge: the session around it, what is signed of it, and what becomes of an unread judgement.

Where no judgement of several can be read there is no score: the run ends, with a sample of what the model said. Else

failed   zero: it counts 0 · drop: the video or item (with that reference set) that needed it is left out of the mean ·
         raise: the run ends. A metric that has the rule as a parameter `failed` keeps its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fabula.core.errors import InputError, SpecError, shown
from fabula.core.notes import Progress, name_id, silent
from fabula.core.rows import CROWDED, Rows
from fabula.evaluate.options import ScoreOptions
from fabula.llm.session import Usage, current, session_in_use
from fabula.metrics import Metric
from fabula.text.judges.scorer import session_of

if TYPE_CHECKING:
    from fabula.evaluate.base import Tally


def check_judge_used(some: Iterable[Metric], options: ScoreOptions) -> None:
    """Refuse flags of a judge that nobody asks."""
    if options.judge_flags and not any(metric.uses_llm for metric in some):
        told = ", ".join(options.judge_flags)
        raise SpecError(
            f'{told} has no effect: no metric here asks a judge; choose one: -m "SODA_c(text=judge:fabula)"'
        )


@contextmanager
def judged(options: ScoreOptions, chosen: Sequence[Metric], progress: Progress = silent) -> Iterator[None]:
    """A session for all these metrics; that of the caller, where one is open."""
    if session_in_use.get() is not None:
        yield
        return
    if not options.names_judge:
        name = next(metric.title for metric in chosen if metric.uses_llm)
        raise SpecError(f"{name} asks a judge; say --judge-url and --judge-model, or --judge-replay")
    with session_of(options) as session:
        session.progress = progress
        yield


def sign_judge(
    metric: Metric, name: str, table: Rows, spent: Usage, options: ScoreOptions, tally: Tally
) -> tuple[Rows, dict[str, object]]:
    """The rows that count, and the facts of the signature; notes and counts say what was spared and what not read."""
    rule = metric.param("failed") or options.judge_failed
    crowded = table.crowded
    heard = describe_sample(spent)
    if spent.unparsed > 1 and not spent.parsed:  # one alone may be bad luck: it counts by the rule
        problem = f"none of {spent.unparsed} judgements can be read{heard}; there is no score"
        raise InputError(problem, field=name, hint="ask a model that answers in the form that the judge asks for")
    if spent.unparsed and rule == "raise":
        key = next((k for k, n in zip(table.keys, crowded.tolist(), strict=True) if n), None)
        problem = f"{spent.unparsed} of {spent.calls} judgements cannot be read{heard}"
        hint = "--judge-failed zero counts them as 0, drop leaves out what needed them"
        raise InputError(problem, video=key, noun=table.unit, field=name, hint=hint)
    for key in (k for k, n in zip(table.keys, crowded.tolist(), strict=True) if n):
        tally.notes.add(UNREAD[rule].replace("{metric}", name), name_id(key), count=0)
    if spent.unparsed:
        tally.notes.add(UNREAD[rule].replace("{metric}", name), count=spent.unparsed)
        if heard:
            tally.notes.add(f"{name}: {spent.unparsed} of {spent.unparsed + spent.parsed} judgements are unread{heard}")
    if spent.attempts:
        tally.notes.add(ATTEMPTS.replace("{metric}", name), count=spent.attempts)
    tally.notes.add(describe_calls(name, spent))
    for what in ("calls", "distinct", "spared", "unparsed"):
        key = f"judge_{'asked' if what == 'distinct' else what}"
        tally.counts[key] = tally.counts.get(key, 0) + getattr(spent, what)
    facts = {
        "model": model_of(metric),
        "calls": spent.calls,
        "asked": spent.distinct,
        "spared": spent.spared,
        "unparsed": spent.unparsed,
        "failed": rule,
        "record": spent.digest,
    }
    if rule == "drop" and crowded.any():
        table = table.take(np.flatnonzero(crowded == 0))
    return without_crowded(table), facts


def without_crowded(table: Rows) -> Rows:
    """A table without the column, which speaks of captions too long for METEOR."""
    return replace(table, columns={n: c for n, c in table.columns.items() if n != CROWDED})


def model_of(metric: Metric) -> str:
    """The model that was asked: the metric's own, or that of the run."""
    return current().model_of(str(metric.param("judge") or metric.param("text") or ""))


def describe_sample(spent: Usage) -> str:
    """One of the answers that cannot be read, short and in one line."""
    return f"; the model said {shown(spent.sample, 100)}" if spent.sample else ""


def describe_calls(name: str, spent: Usage) -> str:
    said = f"{name}: {spent.calls} judgements by {spent.distinct} calls"
    return said + (f"; {spent.spared} pairs cannot move the number and were not asked" if spent.spared else "")


ATTEMPTS = "{metric}: {n} predicted captions seem to tell the judge what to say; they were shown to it as data"
UNREAD = {
    "zero": "{metric}: {n} judgements cannot be read and count 0 (failed=zero)",
    "drop": "{metric}: {n} judgements cannot be read; what needed them is left out (failed=drop)",
}
