"""Which rules part two settings of a metric on these files: found by scoring again with one rule changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from math import nan

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import FabulaError
from fabula.core.rows import Rows, Units, group_keys
from fabula.data.result import Result
from fabula.evaluate import stories
from fabula.evaluate.request import Request, run_request
from fabula.evaluate.score import Cache
from fabula.metrics import Metric
from fabula.metrics.base import Array, Values

TELLING = 5e-7  # a smaller difference of the score is not worth a sentence
APART = 1e-7  # nor one of a unit's own number
STORIES = ("dense", "procedure")  # held in memory, and prepared by metrics alone

Unit = str | int
Index = NDArray[np.int64]
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
    idle: Callable[[str, object, object], bool] = lambda name, here, there: False  # may the change of a field act?
    cache: Cache = field(default_factory=Cache)
    values: dict[str, Values] = field(default_factory=dict)  # of metrics, folded

    def run(self, request: Request) -> Result:
        """A protocol may prepare files in its own way; its rows are kept only where it is known that it does not."""
        if request.protocol is None or (self.task in STORIES and self.prepares_alike(request)):
            return run_request(replace(request, cache=self.cache), self.task)
        own = Cache(made=self.cache.made if self.task in STORIES else {})  # stories are prepared by the reader's name
        return run_request(replace(request, cache=own), self.task)

    def prepares_alike(self, request: Request) -> bool:
        """True where a protocol reads answers as they are read without it, or makes the very same stories of them."""
        if request.protocol is None or not request.protocol.answers:
            return True
        both = (stories.find_ready(replace(r, cache=self.cache)).data for r in (request, self.request))
        return next(both) is next(both)

    def prepare(self, candidates: Iterable[Metric]) -> None:
        """Rows of all that are not there yet, in one pass over the files; those that cannot be are left out."""
        wanted = list({m.full(): m for m in candidates if m.rows_key not in self.cache.rows}.values())
        wanted.sort(key=lambda m: str(m.layout))  # what is laid out alike one after the other
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

    def one_by_one(self, parted: Iterable[tuple[Metric, Metric, str]]) -> None:
        """Prepare what `find_acting` asks for first of all: each rule alone, then those together that move a number."""
        parted = list(parted)
        pairs = [(a, b) for a, b, _ in parted]
        self.prepare(m for a, b in pairs for m in (a, b, *(take_fields(b, a, [f]) for f in self.differing(a, b))))
        self.prepare(take_fields(b, a, find_moving(self, a, b, number)[1]) for a, b, number in parted)

    def rows(self, metric: Metric) -> Rows | None:
        self.prepare([metric])
        return self.cache.rows.get(metric.rows_key)

    def score(self, metric: Metric, number: str) -> float | None:
        key = metric.full()
        if key not in self.values:
            rows = self.rows(metric)
            if rows is None:
                return None
            self.values[key] = metric.fold(rows)
        return self.values[key].get(number)


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
    alone, found = find_moving(bench, a, b, number)
    for f in reversed(fields):  # a metric's own rules first: more often they
        together = bench.score(take_fields(b, a, found), number)
        if together is not None and not has_moved(together, here):
            break
        if f not in found and has_moved(bench.score(take_fields(a, b, [f]), number), here):
            found.append(f)
    return [make_rule(bench, a, b, f, number, alone[f]) for f in fields if f in found]


def find_moving(bench: Bench, a: Metric, b: Metric, number: str) -> tuple[dict[str, float | None], list[str]]:
    """The score of b with each rule of a alone, and the rules that move it."""
    there = bench.score(b, number)
    alone = {f: bench.score(take_fields(b, a, [f]), number) for f in bench.differing(a, b)}
    return alone, [f for f, score in alone.items() if there is not None and has_moved(score, there)]


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
    units = group_keys(here.keys), group_keys(there.keys)
    columns = a.influencing_columns(here, number), b.influencing_columns(there, number)
    differing, places = find_differing((here, there), units, columns)
    x, y = alone(a, here, number, units[0], places[0]), alone(b, there, number, units[1], places[1])
    counts = [np.where(at < 0, 0, of.counts[at]) for of, at in zip(units, places, strict=True)]
    distance = np.abs(x - y)
    # other numbers of rows, but the same value
    same = (counts[0] > 0) & (counts[1] > 0) & (counts[0] != counts[1]) & (distance <= APART)
    shown = np.flatnonzero(~same)
    shown = shown[np.argsort(np.where(np.isnan(distance), -2.0, -distance)[shown], kind="stable")]
    return [
        (str(differing[k]), *pair)
        for k, *pair in zip(shown.tolist(), x[shown].tolist(), y[shown].tolist(), strict=True)
    ]


def alone(metric: Metric, rows: Rows, number: str, units: Units, places: Index) -> Array:
    """The units' own numbers; NaN for one that is not there (−1). [D]"""
    found = np.full(len(places), nan)
    found[places >= 0] = metric.each_unit_value(rows, number, units, places[places >= 0])
    return found


def find_differing(
    tables: tuple[Rows, Rows], units: tuple[Units, Units], columns: tuple[Array, Array]
) -> tuple[list[Unit], list[Index]]:
    """The units whose rows are not alike in what is telling, and the place of each in both tables; −1: it has none."""
    if tables[0].keys == tables[1].keys and columns[0].shape == columns[1].shape:
        alike = (np.abs(columns[0] - columns[1]) <= APART).all(axis=1)
        of = units[0].of[~alike]
        first = np.sort(np.unique(of, return_index=True)[1])
        at = np.flatnonzero(~alike)[first]
        return [tables[0].keys[i] for i in at.tolist()], [of[first]] * 2
    every = list(dict.fromkeys([*units[0].place, *units[1].place]))
    places = [np.fromiter((of.place.get(unit, -1) for unit in every), np.int64, len(every)) for of in units]
    if columns[0].shape[1:] != columns[1].shape[1:]:
        return every, places
    counts = [np.where(at < 0, 0, of.counts[at]) for of, at in zip(units, places, strict=True)]
    even = np.flatnonzero(counts[0] == counts[1])  # units with as many rows here as there
    size = counts[0][even]
    step = np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
    rows = [of.order[np.repeat(of.starts[at[even]], size) + step] for of, at in zip(units, places, strict=True)]
    other = ~(np.abs(columns[0][rows[0]] - columns[1][rows[1]]) <= APART).all(axis=1)
    differs = np.ones(len(every), bool)
    differs[even] = np.bincount(np.repeat(np.arange(len(even)), size)[other], minlength=len(even)) > 0
    found = np.flatnonzero(differs)
    return [every[k] for k in found.tolist()], [at[found] for at in places]


def are_same(a: Rows, b: Rows) -> bool:
    """True where two tables are one, and only what is made of them differs."""
    return a is b or (
        a.keys == b.keys
        and a.columns.keys() == b.columns.keys()
        and all(np.array_equal(a[name], b[name]) for name in a.columns)
    )
