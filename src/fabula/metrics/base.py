"""What a metric is: a value that prints itself, turns units into rows, and folds rows into numbers.

One contract serves every kind of data. Whoever scores asks for five things and never for a class:

    reads                 which data it compares: stories, captions, moments, regions, identity, questions
    prepare(data)         what all units share, made once: tokens, corpus statistics; handed on as `ctx`
    rows(block, ctx)      the rows of a block of units. A shelf's base makes them of `unit`, which a metric writes
    combine(rows)         rows of one reference set → numbers
    signature(facts)      every choice that has ever changed a published number

    score = fold(table(data)) = mean over reference sets of combine(rows)

Rows are kept, so intervals, paired tests, slices, shards and resumed runs need no code in any metric.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import FabulaError, SpecError
from fabula.core.notes import Progress, silent
from fabula.core.rows import Rows, Units
from fabula.core.spec import Spec, show

if TYPE_CHECKING:
    from fabula.llm.session import Session

Row = dict[str, float]
Values = dict[str, float]
Array = NDArray[np.float64]
T = TypeVar("T")
PACKAGE = Path(__file__).parents[1]


class CachedList(list[T]):
    """A list with room for what is made of it, so that the metrics that come after need not make it again.

    What was asked for longest ago goes first.
    """

    def __init__(self, things: Iterable[T] = (), room: int = 12) -> None:
        super().__init__(things)
        self.room = room
        self.made: dict[object, Any] = {}

    def once(self, key: object, make: Callable[[], Any]) -> Any:
        found = self.made.pop(key) if key in self.made else make()
        if len(self.made) >= self.room:
            del self.made[next(iter(self.made))]
        self.made[key] = found
        return found


def once(things: Sequence[Any], key: object, make: Callable[[], Any]) -> Any:
    """What is made of these things under this key: kept with them where they keep it."""
    return things.once(key, make) if isinstance(things, CachedList) else make()


class Data(Protocol):
    """What is compared: units, handed out in blocks so that kernels see many at once."""

    def __len__(self) -> int:
        """How many units there are."""

    def blocks(self, whole: bool) -> Iterator[Any]:
        """The units, some at a time, or with `whole` all at once. A block has a length."""


@contextmanager
def name_foreign_faults(metric: Metric) -> Iterator[None]:
    """What a metric of another package raises, in one line that says where; faults of ours stay as they are."""
    try:
        yield
    except Exception as error:
        module = type(metric).__module__
        if isinstance(error, FabulaError) or module == "fabula" or module.startswith("fabula."):
            raise
        frames = traceback.extract_tb(error.__traceback__)
        outside = [f.filename for f in frames if not Path(f.filename).is_relative_to(PACKAGE)]
        last = [f for f in frames if f.filename in outside[:1]][-1:] or frames[-1:]  # the metric's own file
        place = f"{Path(last[0].filename).name}:{last[0].lineno}"
        raise SpecError(
            f"the metric {metric.name} ({module}) raised {type(error).__name__} at {place}: {error}; mend the metric"
        ) from error


@dataclass(frozen=True, kw_only=True)
class Metric(Spec):
    """Base of all metrics; each shelf has its own base above it. The file name is its name unless it gives one."""

    label: ClassVar[str] = ""  # what a result calls it, where that is not its name: DVC_METEOR is METEOR in its task
    paper: ClassVar[str] = ""  # authors, venue, year
    summary: ClassVar[str] = ""  # one line for lists, where the first line of its file is not about it alone
    reads: ClassVar[str] = ""  # the kind of data it compares, by the name of its shelf
    tasks: ClassVar[tuple[str, ...]] = ()  # which tasks show it by default
    fields: ClassVar[tuple[str, ...]] = ("value",)  # the numbers it reports
    primary: ClassVar[str] = "value"  # the one a table prints when there is room for one
    scale: ClassVar[float] = 100.0  # tables print number × scale
    highest: ClassVar[float] = 1.0  # no number of it is above, where `scale` is 100; intervals of few units need it
    shown: ClassVar[bool] = True  # False: computed only when asked for
    draws: ClassVar[str] = ""  # what a report can draw of it: "pairs" it matched, "graphs" it compared
    perfect_score: ClassVar[str] = "not claimed"  # when a copy of the references scores less than 1; "": never
    rules: ClassVar[Mapping[str, str]] = {}  # "missing=drop", or "top" with {} for its value: what that does

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" not in cls.__dict__:
            cls.name = cls.__module__.rpartition(".")[2]

    def __post_init__(self) -> None:
        """Numbers that no metric can use are refused wherever a metric has a field of that name."""
        super().__post_init__()
        top = self.param("top")
        if top is not None and top < 1:
            raise SpecError(f"{self.name}: top={top}; it must be at least 1, or none")
        for field in {"tau", "tiou", "iou"} & self.defaults().keys():
            levels = getattr(self, field)
            for level in levels if isinstance(levels, tuple) else (levels,):
                if not 0 <= level <= 1:
                    raise SpecError(f"{self.name}: {field}={level:g}; an overlap lies between 0 and 1")

    def __getstate__(self) -> dict[str, object]:
        """A metric travels without its judge."""
        return {name: value for name, value in self.__dict__.items() if name != "bound_to"}

    # ── units into rows ─────────────────────────────────────────────────────────────────────────────────────────────

    def check_sets(self, sets: int) -> None:
        """Refuse so many reference sets; most metrics take any number."""

    @property
    def whole(self) -> bool:
        """True where rows cannot be made of a part of the units at a time."""
        return False

    @property
    def rows_key(self) -> object:
        """Metrics that agree in it have the same rows, and share them."""
        return self.full()

    @property
    def layout(self) -> tuple[object, ...]:
        """Metrics that agree in it lay their data out in the same way: one after the other they share that."""
        return ()

    def prepare(self, data: Any) -> Any:
        """What all units share, made once."""
        return None

    @property
    def needs_statistics(self) -> bool:
        """True where units must know something of the whole corpus: a corpus in parts is counted first."""
        return False

    def count_statistics(self, refs: Any) -> Any:
        """What units need to know of the whole corpus, counted over a part of it, as JSON holds it."""
        return None

    def merge_statistics(self, parts: Sequence[Any]) -> Any:
        """The statistics of the parts together."""
        raise NotImplementedError(f"{self.name} has statistics and does not say how they are merged")

    @property
    def of_unit(self) -> bool:
        """True where a unit's rows hang on that unit alone: those of units that did not change can stay."""
        return not (self.whole or self.needs_statistics)

    @property
    def uses_llm(self) -> bool:
        """True where rows take what a language model says: by its caption scorer, or by a parameter `judge`."""
        return str(self.param("text", "")).startswith("judge:") or bool(self.param("judge"))

    def with_judge(self, judge: Session | None) -> Self:
        """The metric bound to this judge, where it asks one; with None, as it is bound."""
        if not self.uses_llm or (judge is None and self.session is not None):
            return self
        if judge is None:
            raise SpecError(f"{self.title} asks a judge; say --judge-url and --judge-model, or --judge-replay")
        bound = copy(self)
        bound.__dict__["bound_to"] = judge  # no field: a metric prints itself, and equals others, without its judge
        return bound

    @property
    def session(self) -> Session | None:
        """The judge that it is bound to, if any."""
        found: Session | None = self.__dict__.get("bound_to")
        return found

    @property
    def judge_session(self) -> Session:
        """The judge that it is bound to."""
        session = self.session
        if session is None:
            raise SpecError(f"{self.title} asks a judge, and none is named; metric.with_judge(session) binds it to one")
        return session

    @property
    def prompts(self) -> Path | None:
        """The folder of the user's copies of programs whose prompts are asked."""
        return None if self.session is None else self.session.prompts

    def captions(self) -> Any:
        """The scorer (pair/captions.py) by which it compares captions pair by pair; None where there is none."""
        return None

    def rows(self, block: Any, ctx: Any) -> Rows:
        """The rows of a block of units."""
        raise NotImplementedError(f"{self.name} does not say what its rows are")

    def table(self, data: Data, progress: Progress = silent) -> Rows:
        """The rows of all units, in the order of the data."""
        total = len(data)  # a walk over all of it, where videos are in several sets
        progress(self.name, 0, total)
        ctx, parts, done = self.prepare(data), list[Rows](), 0
        for block in data.blocks(self.whole):
            with name_foreign_faults(self):
                parts.append(self.rows(block, ctx))
            done += len(block)
            progress(self.name, done, total)
        rows = Rows.joined(parts)
        return rows if len(rows) else self.table_without(rows, data, progress)

    def table_without(self, rows: Rows, data: Data, progress: Progress) -> Rows:
        """The table where no unit has a row."""
        return rows

    # ── rows into numbers ───────────────────────────────────────────────────────────────────────────────────────────

    def combine(self, rows: Rows) -> Values:
        """Rows of one reference set → numbers. Unless told otherwise, the mean of each field's column."""
        return {f: float(rows[f].mean()) for f in self.fields}

    def fold(self, rows: Rows) -> Values:
        """All rows → numbers: each reference set on its own, then the plain mean over sets."""
        sets = [self.combine(part) for part in rows.sets()]
        return {f: sum(v[f] for v in sets) / len(sets) for f in self.fields}

    def by_threshold(self, rows: Rows) -> dict[str, Values]:
        """The numbers at each threshold, as evaluators print them, where a score is the mean over several; else none.

        They are read off the columns `field@threshold`, which a metric with several thresholds keeps in its rows.
        """
        levels = getattr(self, self.at) if self.at else ()
        if not isinstance(levels, tuple) or len(levels) < 2:
            return {}
        parts, found = list(rows.sets()), dict[str, Values]()
        for level in map(show, levels):
            sets = [self.combine_at(part, level) for part in parts]
            found[level] = {f: sum(v[f] for v in sets) / len(sets) for f in sets[0]}
        return found

    def combine_at(self, rows: Rows, level: str) -> Values:
        """`combine` at one threshold, given as its text."""
        return {f: float(rows[f"{f}@{level}"].mean()) for f in self.fields}

    @property
    def is_mean(self) -> bool:
        """True where numbers are plain means of columns: sums over batches are then all it takes."""
        return type(self).combine is Metric.combine

    def sums(self, rows: Rows) -> Array | None:
        """Columns whose totals over a reference set are all that `combine` needs for the primary number; else None.

        Resampling is then one matrix product (stats/), where a fold of every resample would take minutes. A metric
        that overrides `combine` with another function of totals overrides this pair too. [R, k]
        """
        if not self.is_mean or rows[self.primary].ndim != 1:
            return None
        return np.stack([rows[self.primary], np.ones(len(rows))], axis=1)

    def of_sums(self, totals: Array) -> Array:
        """The primary number of totals [B, k] → [B]."""
        return np.divide(totals[:, 0], totals[:, 1], out=np.zeros(len(totals)), where=totals[:, 1] > 0)

    # ── what it says of itself ──────────────────────────────────────────────────────────────────────────────────────

    @property
    def title(self) -> str:
        """What a result calls it."""
        return self.label or self.name

    def param(self, field: str, otherwise: Any = None) -> Any:
        """A parameter that only some metrics have."""
        return getattr(self, field, otherwise) if field in self.defaults() else otherwise

    def explain(self, field: str) -> str:
        """What this setting of a field does, in the words of the file that has the field."""
        value = show(getattr(self, field))
        for cls in type(self).__mro__:
            known: Mapping[str, str] = cls.__dict__.get("rules", {})
            if sentence := known.get(f"{field}={value}") or known.get(field):
                return sentence.replace("{}", value)
        return f"{field} is {value}"

    def influencing_columns(self, rows: Rows, field: str) -> NDArray[Any]:
        """What of each row can move this number; units that agree in it are not why two tables differ. [R, k]"""
        if self.is_mean:
            return rows[field][:, None]
        if field == self.primary and (totals := self.sums(rows)) is not None:
            return totals
        return np.concatenate([c.reshape(len(rows), -1) for c in rows.columns.values()], axis=1)

    def unit_value(self, rows: Rows, field: str) -> float:
        """The number that the rows of one unit would give by themselves; NaN where they do not count."""
        return self.fold(rows)[field]

    def row_values(self, rows: Rows, field: str) -> Array | None:
        """The number that each row would give by itself; None: only `combine` can tell. [R]"""
        return rows[field] if self.is_mean else None

    def each_unit_value(self, rows: Rows, field: str, units: Units, some: NDArray[np.int64]) -> Array:
        """`unit_value` of some of the units that the rows belong to. [len(some)]"""
        single = None
        if type(self).unit_value is Metric.unit_value and rows.clusters is None:
            single = self.row_values(rows, field)
        if single is not None and single.ndim == 1:
            found: Array = (np.bincount(units.of, single, len(units)) / np.maximum(1, units.counts))[some]
            return found
        return np.array([self.unit_value(rows.take(units.rows(u)), field) for u in some.tolist()])

    def about(self) -> Mapping[str, str]:
        """What else the signature must name: tokeniser, versions of what it leans on."""
        return {}

    @property
    def depends_on(self) -> frozenset[str]:
        """What of text/ it cannot do without, by name: whoever draws by METEOR asks whether its index is at hand."""
        return frozenset(self.about())

    def signature(self, facts: Mapping[str, object]) -> str:
        """Every choice that has ever changed a published number, then the facts of this run."""
        return "|".join([self.full(), *(f"{k}:{v}" for k, v in (*self.about().items(), *facts.items()))])

    def short_signature(self, facts: Mapping[str, object]) -> str:
        """The same without what the metric does by default."""
        return "|".join([self.brief(), *(f"{k}:{v}" for k, v in (*self.about().items(), *facts.items()))])
