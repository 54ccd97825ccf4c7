"""Which rules part two settings of a metric on these files: found by scoring again with one rule changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import FabulaError
from fabula.core.rows import Rows
from fabula.metrics import Metric
from fabula.score import Request, task

TELLING = 5e-7  # a smaller difference of the score is not worth a sentence
APART = 1e-7  # nor one of a unit's own number
STORIES = ("dense", "procedure")  # held in memory, and prepared by metrics alone

Unit = str | int
Places = Mapping[Unit, list[int]]
Numbers = NDArray[Any]
Apart = tuple[str, float, float]  # a unit, its own number here and there; NaN where it does not count


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that acts on these files: what it does, how far it goes by itself, and in which units it shows."""

    field: str
    does: str
    alone: float | None  # the other side's score with this rule taken over; None: that cannot be scored
    units: tuple[Apart, ...]  # most different first; none: the rows are the same, what is made of them is not


@dataclass(slots=True)
class Bench:
    """Scores settings of metrics on the same files, each once."""

    request: Request
    task: str
    idle: Callable[[str, Any, Any], bool] = lambda name, here, there: False  # a field whose change cannot act here
    kept: dict[object, Rows] = field(default_factory=dict)

    def run(self, request: Request) -> Any:
        """A protocol may prepare files in its own way; its rows are kept only where it is known that none does."""
        shared = request.protocol is None or self.task in STORIES
        return task(self.task).run(replace(request, kept=self.kept if shared else None))

    def prepare(self, some: Iterable[Metric]) -> None:
        """Rows of all that are not there yet, in one pass over the files; those that cannot be are left out."""
        wanted = list({m.full(): m for m in some if m.rows_key not in self.kept}.values())
        try:
            if wanted:
                self.run(replace(self.request, metrics=wanted))
        except FabulaError:
            if len(wanted) > 1:
                for metric in wanted:
                    self.prepare([metric])

    def differing(self, a: Metric, b: Metric) -> list[str]:
        """The fields in which two settings of one metric differ, and that could act here."""
        apart = [f for f in a.defaults() if f in b.defaults() and getattr(a, f) != getattr(b, f)]
        return [f for f in apart if not self.idle(f, getattr(a, f), getattr(b, f))]

    def one_by_one(self, pairs: Iterable[tuple[Metric, Metric]]) -> None:
        """Prepare all that `acting` asks for first."""
        self.prepare(m for a, b in pairs for m in (a, b, *(take_fields(b, a, [f]) for f in self.differing(a, b))))

    def rows(self, metric: Metric) -> Rows | None:
        self.prepare([metric])
        return self.kept.get(metric.rows_key)

    def score(self, metric: Metric, number: str) -> float | None:
        rows = self.rows(metric)
        return None if rows is None else metric.fold(rows).get(number)


def take_fields(base: Metric, other: Metric, fields: Iterable[str]) -> Metric:
    """The base with these fields as the other has them."""
    return replace(base, **{f: getattr(other, f) for f in fields})


def find_acting(bench: Bench, a: Metric, b: Metric, number: str) -> list[Rule]:
    """The rules by which setting a differs from b here.

    Each rule is taken over into b alone; those that move the score are reasons. Where they do not together give a's
    score, rules work hand in hand: then those without which a would score otherwise are reasons too, until they do.
    """
    there, here = bench.score(b, number), bench.score(a, number)
    if there is None or here is None:
        return []
    fields = bench.differing(a, b)
    alone = {f: bench.score(take_fields(b, a, [f]), number) for f in fields}
    found = [f for f in fields if has_moved(alone[f], there)]
    for f in reversed(fields):  # a metric's own rules first: more often they
        together = bench.score(take_fields(b, a, found), number)
        if together is not None and not has_moved(together, here):
            break
        if f not in found and has_moved(bench.score(take_fields(a, b, [f]), number), here):
            found.append(f)
    return [make_rule(bench, a, b, f, number, alone[f]) for f in fields if f in found]


def has_moved(score: float | None, base: float) -> bool:
    """True where there is a score and it is another."""
    return score is not None and abs(score - base) > TELLING


def make_rule(bench: Bench, a: Metric, b: Metric, name: str, number: str, alone: float | None) -> Rule:
    """With the units in which it shows: in b where it moves b by itself, else in a without it."""
    with_, without = take_fields(b, a, [name]), b
    base = bench.score(b, number)
    if base is None or not has_moved(alone, base):
        with_, without = a, take_fields(a, b, [name])
    here, there = bench.rows(with_), bench.rows(without)
    units = [] if here is None or there is None else apart((with_, here), (without, there), number)
    return Rule(name, a.explain(name), alone, tuple(units))


def find_preparing(bench: Bench, name: str, metric: Metric, rows: Rows, number: str) -> list[Rule]:
    """The protocol itself, where its rows are others than the same metric has of the files as they are."""
    plain = bench.rows(metric)
    if plain is None or not has_moved(metric.fold(rows)[number], metric.fold(plain)[number]):
        return []
    units = apart((metric, rows), (metric, plain), number)
    return [Rule("files", f"{name} prepares the files in its own way", None, tuple(units))]


def apart(ours: tuple[Metric, Rows], theirs: tuple[Metric, Rows], number: str) -> list[Apart]:
    """The units whose rows part two settings, the most different first."""
    (a, here), (b, there) = ours, theirs
    if are_same(here, there):
        return []
    places, tell = (find_places(here), find_places(there)), (a.telling(here, number), b.telling(there, number))
    differing = find_differing(here, there, places, tell)
    ours_, theirs_ = ({u: of[u] for u in differing if u in of} for of in places)
    values, others = a.each_alone(here, number, ours_), b.each_alone(there, number, theirs_)
    found = []
    for unit in differing:
        x, y = values.get(unit, nan), others.get(unit, nan)
        if unit in ours_ and unit in theirs_ and len(ours_[unit]) != len(theirs_[unit]) and abs(x - y) <= APART:
            continue  # told in other rows, and yet the same
        found.append((str(unit), x, y))
    return sorted(found, key=lambda row: -abs(row[1] - row[2]) if row[1] == row[1] and row[2] == row[2] else -2.0)


def find_differing(here: Rows, there: Rows, places: tuple[Places, Places], tell: tuple[Numbers, Numbers]) -> list[Unit]:
    """The units of both tables whose rows are not alike in what is telling."""
    if here.keys == there.keys and tell[0].shape == tell[1].shape:
        alike = (np.abs(tell[0] - tell[1]) <= APART).all(axis=1)
        return list(dict.fromkeys(here.keys[i] for i in np.flatnonzero(~alike).tolist()))
    units = dict.fromkeys([*places[0], *places[1]])
    both = {u for u in units if u in places[0] and u in places[1]}
    return [u for u in units if u not in both or not are_alike(tell[0][places[0][u]], tell[1][places[1][u]])]


def find_places(rows: Rows) -> Places:
    found: dict[Unit, list[int]] = {}
    for i, key in enumerate(rows.keys):
        found.setdefault(key, []).append(i)
    return found


def are_same(a: Rows, b: Rows) -> bool:
    """True where two tables are one, and only what is made of them differs."""
    return a is b or (
        a.keys == b.keys
        and a.columns.keys() == b.columns.keys()
        and all(np.array_equal(a[name], b[name]) for name in a.columns)
    )


def are_alike(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return a.shape == b.shape and bool((np.abs(a - b) <= APART).all())
