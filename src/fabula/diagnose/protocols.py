"""The same predictions under every published protocol, the default first, and why they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fabula import metrics, protocols
from fabula.core.errors import FabulaError, SpecError
from fabula.core.nouns import Corpus
from fabula.core.result import Result
from fabula.core.rows import Rows
from fabula.diagnose._rules import Facts, differing, sentence
from fabula.engine.local import Progress, silent
from fabula.metrics import Metric
from fabula.tasks import Request, _stories

TELLING = 5e-7  # a smaller difference is not worth a sentence
APPLICABLE = {"dense": ("dense", "procedure"), "procedure": ("procedure",)}


@dataclass(frozen=True, slots=True)
class Column:
    """One protocol's numbers, or why there are none."""

    name: str
    metrics: dict[str, Metric]  # label → its setting
    result: Result | None
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one number differs from another: the settings that differ, and the videos in which it shows."""

    metric: str
    here: float
    there: float
    rules: tuple[str, ...]  # what this side does, one sentence each
    videos: int  # how many have another number, or none
    most: tuple[tuple[str, float, float], ...]  # they, the most different first: id, here, there


@dataclass(frozen=True, slots=True)
class Overview:
    """All columns, the default first."""

    task: str
    columns: tuple[Column, ...]
    facts: Facts

    def column(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise SpecError(f"{name!r} is not among the protocols compared: {', '.join(c.name for c in self.columns)}")

    def labels(self) -> list[str]:
        return list(dict.fromkeys(label for c in self.columns if c.result for label in c.result.scores))

    def reasons(self, here: str, there: str = "default") -> list[Reason]:
        """For every metric that both have: why `here` differs from `there`."""
        a, b = self.column(here), self.column(there)
        if a.result is None or b.result is None:
            raise SpecError(a.refused or b.refused)
        found = []
        for label, score in a.result.scores.items():
            if label in b.result.scores and abs(score.value - b.result.scores[label].value) > TELLING:
                fields = differing(a.metrics[label], b.metrics[label], self.facts)
                rules = tuple(sentence(f, getattr(a.metrics[label], f)) for f in fields)
                changed = changes(a.result.rows[label], b.result.rows[label], score.primary)
                other = b.result.scores[label].value
                found.append(Reason(label, score.value, other, rules, len(changed), tuple(changed)))
        return found


def changes(here: Rows, there: Rows, primary: str) -> list[tuple[str, float, float]]:
    """Videos whose number differs, the most different first; one that does not count has nan."""
    a, b = here.by_key(primary), there.by_key(primary)
    nan = float("nan")
    both = [(str(v), a.get(v, nan), b.get(v, nan)) for v in dict.fromkeys([*a, *b])]
    apart = [(v, x, y) for v, x, y in both if abs(x - y) > 1e-7 or x != x or y != y]
    return sorted(apart, key=lambda row: -abs(row[1] - row[2]) if row[1] == row[1] and row[2] == row[2] else -2.0)


def overview(
    predictions: Corpus,
    refs: Sequence[Corpus],
    names: Sequence[str] | None = None,
    task: str | None = None,
    progress: Progress = silent,
) -> Overview:
    """Score under the default and every protocol that applies (or those named); equal settings once."""
    task = task or ("dense" if predictions.captioned else "procedure")
    if task not in APPLICABLE:
        raise SpecError(f"protocols are compared for {' and '.join(APPLICABLE)}, not {task}")
    kept: dict[str, Rows] = {}
    request = Request(predictions=predictions, refs=refs, repair=("keep",), progress=progress, kept=kept)
    fitting = [p for p in protocols.room.all() if p.task in APPLICABLE[task]]
    chosen = [protocols.protocol(n) for n in names] if names else fitting
    columns = [column("default", metrics.default(task), request, task)]
    for protocol in chosen:
        columns.append(column(protocol.name, list(protocol.metrics), replace(request, protocol=protocol), task))
    return Overview(task, tuple(columns), Facts.of(predictions, refs))


def column(name: str, some: list[Metric], request: Request, task: str) -> Column:
    labelled: dict[str, Metric] = {m.label or m.name: m for m in some}
    try:
        result: Any = _stories.run(replace(request, metrics=some), task)
    except FabulaError as error:
        return Column(name, labelled, None, str(error))
    return Column(name, labelled, result)
