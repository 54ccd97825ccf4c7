"""What a task is: which files it reads, and how its metrics' rows are made. One file of this room per task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from fabula import __version__, metrics
from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes, Progress, name_id, silent
from fabula.core.rows import Rows
from fabula.data.result import Result, Score
from fabula.data.stories import Corpus
from fabula.documents.document import Document
from fabula.evaluate.options import ScoreOptions
from fabula.metrics import Metric

if TYPE_CHECKING:
    from fabula.benchmarks.base import Protocol
    from fabula.jobs.runner import Runner
    from fabula.llm.session import Usage

Readable = str | Path | Document | Corpus
Shelf = dict[tuple[str, str | None], tuple[Corpus, Notes]]  # by path and format
T = TypeVar("T")
PLURAL = {"id": "items", "query": "queries"}  # what rows are, in a signature


@dataclass(slots=True)
class Memory:
    """What requests share that score the same files in many ways: rows by metrics' `rows_key`, and files made ready."""

    rows: dict[object, Rows] = field(default_factory=dict)
    made: dict[object, Any] = field(default_factory=dict)
    spent: dict[object, Usage] = field(default_factory=dict)  # on the rows of metrics that ask a judge


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a user asked `score` for."""

    predictions: Readable
    refs: Sequence[Readable] = ()
    options: ScoreOptions = field(default_factory=ScoreOptions)
    protocol: Protocol | None = None
    metrics: Sequence[Metric] | None = None  # None: the protocol's, or all of the task
    progress: Progress = silent
    runner: Runner | None = None  # where shards are scored; None: here
    memory: Memory | None = None  # shared with other requests about these files, with the same options
    shelf: Shelf | None = None  # references that were read before, by requests that share it

    def once(self, key: object, make: Callable[[], T]) -> T:
        """What is made for this request, or was for another that shares its memory."""
        if self.memory is None:
            return make()
        if key not in self.memory.made:
            self.memory.made[key] = make()
        found: T = self.memory.made[key]
        return found

    def chosen(self, task: str) -> list[Metric]:
        """The metrics to compute; with `tok`, those that tokenise do it that way; with `spice`, those that parse."""
        some = metrics.default(task) if self.metrics is None else self.metrics
        some, tok = metrics.set_parser(some, self.options.spice), self.options.tok
        if tok is None:
            return some
        for m in some if self.protocol else ():
            if self.protocol and m.param("tok", tok) != tok:
                said = f"the protocol {self.protocol.name} has tok={m.param('tok')} for {m.title}"
                raise SpecError(f"{said}, and --tok {tok} contradicts it; leave one of the two out")
        return [m.with_params({"tok": tok}) if "tok" in m.defaults() else m for m in some]

    def readable(self, task: str, *kinds: str) -> list[Metric]:
        """The same, if each compares what this task has."""
        chosen = self.chosen(task)
        for metric in chosen:
            if metric.reads not in kinds:
                tasks = " and ".join(metric.tasks)
                raise SpecError(f"{metric.name} is not a metric of the task {task}; it is for {tasks}")
        return chosen

    @property
    def means_all(self) -> bool:
        """True where nobody chose metrics: those that the files do not allow are then left out, and named."""
        return self.metrics is None or (self.protocol is not None and list(self.metrics) == list(self.protocol.metrics))

    def paths(self, task: str) -> tuple[Path | Document, list[Path | Document]]:
        """The files of a task that reads files only."""
        everything = [self.predictions, *self.refs]
        if any(isinstance(r, Corpus) for r in everything):
            raise SpecError(f"the task {task} reads files, not story corpora")
        first, *rest = (r if isinstance(r, Path | Document) else Path(str(r)) for r in everything)
        return first, rest

    def need_refs(self) -> None:
        if not self.refs:
            raise SpecError("no references; name at least one reference file: --refs FILE, in Python refs=")


@dataclass(slots=True)
class Tally:
    """What the rows of a task come with: facts for signatures, counts for the result, remarks."""

    facts: Mapping[str, object] | Callable[[Metric], Mapping[str, object]]
    counts: dict[str, int]
    notes: Notes


def measure(
    request: Request, task: str, chosen: Sequence[Metric], rows_of: Callable[[Metric], Rows], tally: Tally
) -> Result:
    """Each metric's rows, folded and signed; where one asks a judge, within a session of its own or of the caller."""
    if any(metric.uses_llm for metric in chosen):
        from fabula.evaluate.judged import judged

        with judged(request.options, chosen, request.progress):
            return measure_all(request, task, chosen, rows_of, tally)
    return measure_all(request, task, chosen, rows_of, tally)


def measure_all(
    request: Request, task: str, chosen: Sequence[Metric], rows_of: Callable[[Metric], Rows], tally: Tally
) -> Result:
    scores: dict[str, Score] = {}
    rows: dict[str, Rows] = {}
    named: dict[str, Metric] = {}
    memory = Memory() if request.memory is None else request.memory
    kept = memory.rows
    for metric in chosen:
        name = metric.title if sum(m.title == metric.title for m in chosen) == 1 else str(metric)
        if name in scores:
            raise SpecError(f"the metric {metric} is asked for twice")
        key = metric.rows_key
        if key not in kept:
            kept[key] = share_keys(count_spent(metric, rows_of, memory), kept.values())
        table, told = kept[key], dict[str, object]()
        if not len(table) and request.means_all and len(chosen) > 1:
            tally.notes.add(f"{name} is left out: missing=drop leaves it nothing to score")
            continue
        if metric.uses_llm:
            from fabula.evaluate.judged import sign_judge

            table, told = sign_judge(metric, name, table, memory.spent[key], request.options, tally)
        if not len(table):
            raise InputError("nothing is left to score", hint="missing=drop leaves out what has no prediction")
        own = tally.facts(metric) if callable(tally.facts) else tally.facts
        run_facts = {PLURAL.get(table.unit, f"{table.unit}s"): len(set(table.keys)), **own, **told}
        if not metric.uses_llm and (crowded := note_crowded(table, name, request.options.strict, tally)):
            run_facts["crowded=zero"] = crowded
        run_facts["fabula"] = __version__
        signature, short = metric.signature(run_facts), metric.short_signature(run_facts)
        at = metric.by_threshold(table)
        numbers = metric.fold(table)
        scores[name] = Score(
            metric.title, numbers, metric.primary, signature, scale=metric.scale, by_threshold=at, short=short
        )
        rows[name], named[name] = table, metric
    if not scores:
        raise InputError("nothing is left to score", hint="missing=drop leaves out what has no prediction")
    protocol = request.protocol.name if request.protocol else "default"
    lines = tuple(tally.notes.lines())
    return Result(__version__, task, protocol, scores, tally.counts, lines, rows, named)


def count_spent(metric: Metric, rows_of: Callable[[Metric], Rows], memory: Memory) -> Rows:
    """A metric's rows; what it asked a judge for them is kept beside them."""
    if not metric.uses_llm:
        return rows_of(metric)
    from fabula.llm.session import current

    with current().count() as spent:
        table = rows_of(metric)
    memory.spent[metric.rows_key] = spent
    return table


def with_parts(
    result: Result,
    counted: str,
    places_of: Callable[[Rows], Mapping[str, Sequence[int]]],
    folded_by: Callable[[Metric], Metric] = lambda metric: metric,
) -> Result:
    """The result with each score of parts of its rows as well: types of queries, categories of videos, kinds of items.

    `places_of` says which rows a part has; parts without rows are none. `counted` is what a part is counted in.
    """
    scores = {}
    for name, score in result.scores.items():
        metric, rows = folded_by(result.metrics[name]), result.rows[name]
        parts = {part: rows.take(at) for part, at in places_of(rows).items() if at}
        by_type = {part: {counted: len(set(some.keys)), **metric.fold(some)} for part, some in parts.items()}
        scores[name] = replace(score, by_type=by_type)
    return replace(result, scores=scores)


def share_keys(table: Rows, others: Iterable[Rows]) -> Rows:
    """The same table; where another one has the same keys, theirs: hundreds may be kept."""
    for other in others:
        if table.keys == other.keys and np.array_equal(table.refset, other.refset):
            return replace(table, keys=other.keys, refset=other.refset)
    return table


def note_crowded(table: Rows, metric: str, strict: bool, tally: Tally) -> int:
    """How many pairs of captions no scorer can score, named and counted; --strict refuses them."""
    for key, count in zip(table.keys, table.crowded.tolist(), strict=True):
        if not count:
            continue
        if strict:
            problem = f"{int(count)} pairs of captions are too long or too repetitive for METEOR to align"
            hint = "shorten them, or leave out --strict and they score 0"
            raise InputError(problem, video=key, noun=table.unit, field=metric, hint=hint)
        tally.notes.add(CROWDED.replace("{metric}", metric), name_id(key), count=int(count))
    total = int(table.crowded.sum())
    if total:
        tally.counts["crowded"] = max(total, tally.counts.get("crowded", 0))
    return total


CROWDED = (
    "{metric}: {n} pairs of captions are too long or too repetitive for METEOR to align and score 0 (crowded=zero)"
)
