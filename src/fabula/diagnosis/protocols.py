"""The same predictions under every published protocol, the default first, and why they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fabula import metrics
from fabula.benchmarks import Protocol
from fabula.benchmarks import protocol as find_protocol
from fabula.benchmarks import room as protocol_room
from fabula.core.errors import FabulaError, SpecError
from fabula.core.notes import Notes, Progress, silent
from fabula.core.options import Options, option
from fabula.data.result import Result
from fabula.data.stories import Corpus
from fabula.diagnosis._idle import Facts
from fabula.diagnosis._rules import STORIES, Apart, Bench, Rule, apart, find_acting, find_preparing, has_moved
from fabula.diagnosis.readings import Readings, gather_readings
from fabula.evaluate import stories
from fabula.evaluate.inputs import Readable
from fabula.evaluate.options import ScoreOptions
from fabula.evaluate.request import Request
from fabula.evaluate.score import PLURAL
from fabula.evaluate.tasks import find_task, task_names
from fabula.llm.session import Session
from fabula.metrics import Metric

__all__ = ["Apart", "Column", "Compared", "Overview", "Reason", "Rule", "has_moved", "overview", "title_number"]


@dataclass(frozen=True, kw_only=True)
class Compared(Options):
    """Which protocols stand beside the default."""

    explain: tuple[str, str] | None = option(
        None, "List the differences between protocol A and protocol B, video by video.", metavar="A B"
    )
    only: tuple[str, ...] = option((), "Protocols to compare, comma separated. Default: all that apply.", parts=True)
    judges: tuple[Path, ...] = option(
        (), "Records of judgements: compare every judge and model in them, instead of protocols.", several=True
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "judges", tuple(Path(record) for record in self.judges))
        if self.judges and (self.only or self.explain):
            raise SpecError("--judges compares judges, --only and --explain protocols; say one of the two")

    @property
    def names(self) -> tuple[str, ...]:
        """Those that were asked for; nothing where all are."""
        return self.only or tuple(name for name in self.explain or () if name != "default")


@dataclass(frozen=True, slots=True)
class Column:
    """One protocol's numbers, or why there are none."""

    name: str
    metrics: dict[str, Metric]  # label → its setting
    result: Result | None
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one number differs from another: the rules that act, and the units in which it shows."""

    metric: str  # and which of its numbers, where it is not the primary one
    here: float
    there: float
    scale: float
    unit: str  # what the units are: videos, images, …
    rules: tuple[Rule, ...]
    most: tuple[Apart, ...]  # the units that differ, the most different first: id, here, there


@dataclass(frozen=True, slots=True)
class Overview:
    """All columns, the default first."""

    task: str
    columns: tuple[Column, ...]
    bench: Bench
    warnings: tuple[str, ...] = ()
    readings: Readings | None = None  # of answers in words: what every reader finds in them

    def column(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise SpecError(f"{name!r} is not among the protocols compared: {', '.join(c.name for c in self.columns)}")

    def lines(self) -> list[tuple[str, str]]:
        """Metric and number of each line of the table: the primary, and others where a protocol moves them alone."""
        found: dict[tuple[str, str], None] = {}
        for column in self.columns:
            for label, score in column.result.scores.items() if column.result else ():
                found |= {(label, score.primary): None}
                found |= dict.fromkeys((label, number) for number in self.moved_numbers(column, label))
        order = list(dict.fromkeys(label for label, _ in found))
        return sorted(found, key=lambda line: order.index(line[0]))

    def moved_numbers(self, column: Column, label: str, there: str = "default") -> Iterator[str]:
        """The numbers of a metric that differ from another column's: the primary; where that does not, the others."""
        other = self.column(there).result
        if column.result is None or other is None or label not in other.scores:
            return
        a, b = column.result.scores[label], other.scores[label]
        other_numbers = [n for n in a.values if n in b.values and has_moved(a.values[n], b.values[n])]
        yield from [a.primary] if a.primary in other_numbers else other_numbers

    def every_reason(self) -> dict[str, list[Reason]]:
        """`reasons` of all columns that could be scored, against the default; what they ask for is scored together."""
        first, *others = (column for column in self.columns if column.result)
        self.bench.one_by_one(parted for column in others for parted in self.moved_metrics(column, first))
        return {column.name: self.reasons(column.name) for column in others}

    def reasons(self, here: str, there: str = "default") -> list[Reason]:
        """For every metric that both have: why `here` differs from `there`."""
        a, b = self.column(here), self.column(there)
        if a.result is None or b.result is None:
            raise SpecError(a.refused or b.refused)
        self.bench.one_by_one(self.moved_metrics(a, b))
        lines = [(label, number) for label in a.result.scores for number in self.moved_numbers(a, label, there)]
        return [self.reason(a, b, label, number) for label, number in lines]

    def moved_metrics(self, a: Column, b: Column) -> Iterator[tuple[Metric, Metric, str]]:
        """The settings of both columns of every metric with a number that differs, and that number."""
        for label in a.result.scores if a.result else ():
            yield from ((a.metrics[label], b.metrics[label], n) for n in self.moved_numbers(a, label, b.name))

    def reason(self, a: Column, b: Column, label: str, number: str) -> Reason:
        assert a.result is not None and b.result is not None
        score, other = a.result.scores[label], b.result.scores[label]
        ours, theirs = ((c.metrics[label], c.result.rows[label]) for c in (a, b) if c.result)
        rules = find_acting(self.bench, ours[0], theirs[0], number)
        for column, (metric, rows) in ((a, ours), (b, theirs)):
            rules += find_preparing(self.bench, column.name, metric, rows, number)
        return Reason(
            title_number(label, number, score.primary),
            score.values[number],
            other.values[number],
            score.scale,
            PLURAL.get(ours[1].unit, f"{ours[1].unit}s"),
            tuple(rules),
            tuple(apart(ours, theirs, number)),
        )


def title_number(label: str, number: str, primary: str) -> str:
    return label if number == primary else f"{label} {number}"


def overview(
    predictions: Readable,
    refs: Sequence[Readable],
    names: Sequence[str] | None = None,
    task: str | None = None,
    progress: Progress = silent,
    options: ScoreOptions | None = None,
    judge: Session | None = None,
) -> Overview:
    """Score under the default and every protocol that applies (or those named); equal settings once.

    The task is that of the protocols named, where no other is; stories tell theirs by having captions or not.
    """
    named = list({p.name: p for p in map(find_protocol, names or ())}.values())
    task = task or next((p.task for p in named if p.task not in STORIES), None)
    notes = Notes()
    options = options or ScoreOptions()
    options.check_task(find_task(task).name if task else "dense", task_names)
    options = replace(options, repair=options.repair or ("keep",))
    request = Request(predictions=predictions, refs=refs, options=options, progress=progress, judge=judge)
    if task is None or find_task(task).name in STORIES:
        pred = stories.read_side(predictions, notes, options.format, "predictions")
        read = [stories.read_side(r, notes, options.refs_format, "references") for r in refs]
        task = task or ("dense" if pred.captioned else "procedure")
        bench = Bench(replace(request, predictions=pred, refs=read), find_task(task).name, Facts.of(pred, read).idle)
    else:
        bench = Bench(request, find_task(task).name)
    chosen = named or [p for p in every_protocol(notes) if applies(p, bench.task)]
    first = make_column("default", bench.run(bench.request))
    if bench.task in STORIES:
        bench.prepare(m for p in chosen if not p.answers for m in p.metrics)
    columns = [first, *(column(p, bench) for p in chosen)]
    metrics.check_parser((m for c in columns for m in c.metrics.values()), options.spice)
    remarks = [*notes.lines(), *(first.result.warnings if first.result else ())]
    in_words = bench.task == "grounding" and not isinstance(predictions, Corpus)
    readings = gather_readings(str(predictions), options.format) if in_words else None
    return Overview(bench.task, tuple(columns), bench, tuple(remarks), readings)


def every_protocol(notes: Notes) -> Iterator[Protocol]:
    """Ours, then those of other packages; one that cannot be used is noted."""
    yield from protocol_room.all()
    yield from (protocol for _, protocol in protocol_room.others(notes.add))


def applies(protocol: Protocol, task: str) -> bool:
    """A protocol is for its own task, and for any that shows all its metrics: procedures are stories too."""
    return protocol.task == task or all(task in metric.tasks for metric in protocol.metrics)


def column(protocol: Protocol, bench: Bench) -> Column:
    request = replace(bench.request, protocol=protocol, metrics=list(protocol.metrics))
    try:
        return make_column(protocol.name, bench.run(request))
    except FabulaError as error:
        return Column(protocol.name, {}, None, str(error))


def make_column(name: str, result: Result) -> Column:
    return Column(name, dict(result.metrics), result)
