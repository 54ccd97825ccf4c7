"""What a task is: which files it reads, and how its metrics' rows are made. One file of this room per task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabula import __version__, metrics
from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes
from fabula.core.nouns import Corpus
from fabula.core.result import Result, Score
from fabula.core.rows import Rows
from fabula.engine.local import Progress, silent
from fabula.engine.shards import Engine
from fabula.metrics import Metric
from fabula.protocols import Protocol

Readable = str | Path | Corpus
FILES = frozenset({"repair", "strict", "format", "refs_format"})  # options of how files of segments are read
PLURAL = {"id": "items", "query": "queries"}  # what rows are, in a signature


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a user asked `score` for."""

    predictions: Readable
    refs: Sequence[Readable] = ()
    protocol: Protocol | None = None
    metrics: Sequence[Metric] | None = None  # None: the protocol's, or all of the task
    repair: Sequence[str] = ()
    strict: bool = False
    tok: str | None = None
    spice: str | None = None  # who parses for SPICE and iSPICE: native or java
    people: str | None = None  # how captions write people, where that is not P1 or [PERSON1]
    format: str | None = None
    refs_format: str | None = None
    sets: Path | None = None  # which clips belong together, for the tasks that group them
    progress: Progress = silent
    engine: Engine | None = None  # where shards are scored; None: here
    work: Path | None = None  # the folder of a run that can be resumed
    resume: bool = False
    kept: dict[str, Rows] | None = None  # rows by a metric's full spec, where several requests share them

    @property
    def sharded(self) -> bool:
        """True where the corpus is cut into shards; False where it is scored at once, in memory."""
        return self.engine is not None or self.work is not None or self.resume

    def chosen(self, task: str) -> list[Metric]:
        """The metrics to compute; with `tok`, those that tokenise do it that way; with `spice`, those that parse."""
        some = metrics.parsed_by(metrics.default(task) if self.metrics is None else self.metrics, self.spice)
        if self.tok is None:
            return some
        tokenising = [m for m in some if "tok" in m.defaults()]
        for m in tokenising if self.protocol else ():
            own = getattr(m, "tok")  # noqa: B009  (only some metrics have it)
            if self.protocol and own != self.tok:
                said = f"the protocol {self.protocol.name} has tok={own} for {m.label or m.name}"
                raise SpecError(f"{said}, and --tok {self.tok} contradicts it; leave one of the two out")
        return [m.with_params({"tok": self.tok}) if m in tokenising else m for m in some]

    def paths(self, task: str) -> tuple[Path, list[Path]]:
        """The files of a task that reads files only."""
        everything = [self.predictions, *self.refs]
        if any(isinstance(r, Corpus) for r in everything):
            raise SpecError(f"the task {task} reads files, not story corpora")
        first, *rest = (Path(str(r)) for r in everything)
        return first, rest


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A kind of thing to be scored."""

    name: str
    about: str  # one line for help texts
    run: Callable[[Request], Result]
    reads: frozenset[str] = frozenset()  # of the options that not every task reads


def measured(
    request: Request,
    task: str,
    rows_of: Callable[[Metric], Rows],
    facts: Mapping[str, object] | Callable[[Metric], Mapping[str, object]],
    counts: dict[str, int],
    notes: Notes,
) -> Result:
    """Each chosen metric's rows, folded and signed."""
    scores: dict[str, Score] = {}
    rows: dict[str, Rows] = {}
    chosen = request.chosen(task)
    for metric in chosen:
        short = metric.label or metric.name
        name = short if sum((m.label or m.name) == short for m in chosen) == 1 else str(metric)
        if name in scores:
            raise SpecError(f"the metric {metric} is asked for twice")
        kept = {} if request.kept is None else request.kept
        table = kept[metric.full()] if metric.full() in kept else kept.setdefault(metric.full(), rows_of(metric))
        if not len(table):
            raise InputError("nothing is left to score", hint="missing=drop leaves out what has no prediction")
        own = facts(metric) if callable(facts) else facts
        run_facts = {PLURAL.get(table.unit, f"{table.unit}s"): len(set(table.keys)), **own}
        signature = metric.signature({**run_facts, "fabula": __version__})
        scores[name] = Score(short, metric.fold(table), metric.primary, signature, scale=metric.scale)
        rows[name] = table
    protocol = request.protocol.name if request.protocol else "default"
    return Result(__version__, task, protocol, scores, counts, tuple(notes.lines()), rows)


def wrong_task(metric: Metric, task: str) -> SpecError:
    return SpecError(f"{metric.name} is not a metric of the task {task}; it is for {' and '.join(metric.tasks)}")
