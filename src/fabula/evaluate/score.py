"""score: a comparison and metrics → numbers, each with its rows and its signature. Nothing ambient is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache as cache_call
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from fabula import __version__, _kernels
from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes, announce, name_id
from fabula.core.rows import Rows
from fabula.data.result import Result, Score
from fabula.data.stories import Corpus
from fabula.metrics.base import Metric, Values

if TYPE_CHECKING:
    from fabula.llm.session import Session, Usage

T = TypeVar("T")
Facts = Mapping[str, object]
PLURAL = {"id": "items", "query": "queries"}  # what rows are, in a signature
SLOWER = 15  # times, SODA_c of ActivityNet Captions val without kernels: bench/soda.py
NOTHING = "nothing is left to score"
DROPPED = "missing=drop leaves out what has no prediction"


@dataclass(slots=True)
class Cache:
    """What several scorings of one comparison share. The caller makes it and passes it; it ends with the caller."""

    rows: dict[object, Rows] = field(default_factory=dict)  # by metrics' `rows_key`
    usage: dict[object, Usage] = field(default_factory=dict)  # of a judge, for the rows of metrics that ask one
    made: dict[object, object] = field(default_factory=dict)  # files that are read, checked and paired
    files: dict[tuple[str, str | None], tuple[Corpus, Notes]] = field(default_factory=dict)  # by path and format

    def once(self, key: object, make: Callable[[], T]) -> T:
        if key not in self.made:
            self.made[key] = make()
        return cast("T", self.made[key])


@dataclass(frozen=True, slots=True)
class Parts:
    """Parts of the rows that have scores of their own: types of queries, categories of videos, kinds of items."""

    unit: str  # what a part is counted in
    places: Callable[[Rows], Mapping[str, Sequence[int]]]  # which rows a part has; parts without rows are none
    metric: Callable[[Metric], Metric] = lambda metric: metric  # by which a part is folded

    def fold(self, metric: Metric, rows: Rows) -> dict[str, Values]:
        metric = self.metric(metric)
        parts = {part: rows.take(at) for part, at in self.places(rows).items() if at}
        return {part: {self.unit: len(set(some.keys)), **metric.fold(some)} for part, some in parts.items()}


@dataclass(slots=True, kw_only=True)
class Comparison:
    """Both sides read, checked and paired: how rows are made of them, and what is known of them. It knows no file.

    Large work is a plan: `rows_of` reads it piece by piece, and `opened` holds what it needs until it is scored.
    """

    task: str
    rows_of: Callable[[Metric], Rows]
    counts: dict[str, int]
    notes: Notes
    facts: Facts | Callable[[Metric], Facts]  # of the run, for signatures
    parts: Parts | None = None
    evidence: Callable[[Mapping[str, Metric]], Mapping[str, Any]] = lambda metrics: {}  # fields of a result for reports
    protocol: str = "default"
    strict: bool = False  # refuses captions that are too long for METEOR
    optional: bool = False  # nobody chose the metrics: one that has nothing to score is left out
    judge_failed: str = "zero"
    opened: ExitStack = field(default_factory=ExitStack)

    def add_fact(self, name: str, value: object) -> None:
        """Add a fact of the run to every signature."""
        own = self.facts
        self.facts = lambda metric: {**(own(metric) if callable(own) else own), name: value}


def score(
    comparison: Comparison, metrics: Sequence[Metric], *, judge: Session | None = None, cache: Cache | None = None
) -> Result:
    """Each metric's rows, folded and signed; a metric that asks a model asks `judge`, unless it has a judge already."""
    announce_twins()
    cache, notes = Cache() if cache is None else cache, comparison.notes
    scores, rows, named = dict[str, Score](), dict[str, Rows](), dict[str, Metric]()
    words: dict[str, Mapping[tuple[str, ...], str]] = {}
    for metric in [metric.with_judge(judge) for metric in metrics]:
        name = metric.title if sum(m.title == metric.title for m in metrics) == 1 else str(metric)
        if name in scores:
            raise SpecError(f"the metric {metric} is asked for twice")
        key, session = metric.rows_key, metric.session
        if key not in cache.rows:
            with nullcontext() if session is None else session.count() as usage:
                table = comparison.rows_of(metric)
            cache.rows[key] = share_keys(table, cache.rows.values())
            if usage is not None:
                cache.usage[key] = usage
        table, facts = cache.rows[key], dict[str, object]()
        if not len(table) and comparison.optional and len(metrics) > 1:
            notes.add(f"{name} is left out: missing=drop leaves it nothing to score")
            continue
        if session is not None:
            from fabula.evaluate.judged import sign_judge

            table, facts = sign_judge(metric, name, table, cache.usage[key], comparison)
            words[name] = cache.usage[key].words
        if not len(table):
            raise InputError(NOTHING, hint=DROPPED)
        own = comparison.facts(metric) if callable(comparison.facts) else comparison.facts
        facts = {PLURAL.get(table.unit, f"{table.unit}s"): len(set(table.keys)), **own, **facts}
        if session is None and (crowded := note_crowded(table, name, comparison)):
            facts["crowded=zero"] = crowded
        facts["fabula"] = __version__
        scores[name] = Score(
            metric.title,
            metric.fold(table),
            metric.primary,
            metric.signature(facts),
            scale=metric.scale,
            by_type={} if comparison.parts is None else comparison.parts.fold(metric, table),
            by_threshold=metric.by_threshold(table),
            short=metric.short_signature(facts),
        )
        rows[name], named[name] = table, metric
    if not scores:
        raise InputError(NOTHING, hint=DROPPED)
    return Result(
        __version__,
        comparison.task,
        comparison.protocol,
        scores,
        comparison.counts,
        tuple(notes.lines()),
        rows,
        named,
        judge_words=words,
        **comparison.evidence(named),
    )


@cache_call
def announce_twins() -> None:
    """Say once in a process that the Python twins do the work of the kernels, all the time that it lives."""
    if _kernels.NATIVE is None:
        announce(f"kernels not compiled: about {SLOWER} times slower")
    elif os.environ.get("FABULA_KERNELS") == "python":
        announce(f"kernels turned off by FABULA_KERNELS=python: about {SLOWER} times slower")


def share_keys(table: Rows, others: Iterable[Rows]) -> Rows:
    """The same table; where another one has the same keys, theirs: hundreds may be kept."""
    for other in others:
        if table.keys == other.keys and np.array_equal(table.refset, other.refset):
            return replace(table, keys=other.keys, refset=other.refset)
    return table


def note_crowded(table: Rows, metric: str, comparison: Comparison) -> int:
    """How many pairs of captions no scorer can score, named and counted; --strict refuses them."""
    for key, count in zip(table.keys, table.crowded.tolist(), strict=True):
        if not count:
            continue
        if comparison.strict:
            problem = f"{int(count)} pairs of captions are too long or too repetitive for METEOR to align"
            hint = "shorten them, or leave out --strict and they score 0"
            raise InputError(problem, video=key, noun=table.unit, field=metric, hint=hint)
        comparison.notes.add(CROWDED.replace("{metric}", metric), name_id(key), count=int(count))
    total = int(table.crowded.sum())
    if total:
        comparison.counts["crowded"] = max(total, comparison.counts.get("crowded", 0))
    return total


CROWDED = (
    "{metric}: {n} pairs of captions are too long or too repetitive for METEOR to align and score 0 (crowded=zero)"
)
