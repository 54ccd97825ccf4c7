"""What a metric is: a value that prints itself, turns one unit into a row, and folds rows into numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import SpecError
from fabula.core.rows import Rows
from fabula.core.spec import Spec, show

Row = dict[str, float]
Values = dict[str, float]
Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Metric(Spec):
    """Base of all metrics. A subclass measures in `unit`; the file name is its name unless it gives one."""

    label: ClassVar[str] = ""  # what a result calls it, where that is not its name: DVC_METEOR is METEOR in its task
    paper: ClassVar[str] = ""  # authors, venue, year
    tasks: ClassVar[tuple[str, ...]] = ()  # which tasks show it by default
    fields: ClassVar[tuple[str, ...]] = ("value",)  # the numbers it reports
    primary: ClassVar[str] = "value"  # the one a table prints when there is room for one
    scale: ClassVar[float] = 100.0  # tables print number × scale
    shown: ClassVar[bool] = True  # False: computed only when asked for
    rules: ClassVar[Mapping[str, str]] = {}  # "missing=drop", or "top" with {} for its value: what that does

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" not in cls.__dict__:
            cls.name = cls.__module__.rpartition(".")[2]

    def __post_init__(self) -> None:
        """Numbers that no metric can use are refused wherever a metric has a field of that name."""
        super().__post_init__()
        top = getattr(self, "top", None)
        if top is not None and top < 1:
            raise SpecError(f"{self.name}: top={top}; it must be at least 1, or none")
        for field in {"tau", "tiou", "iou"} & self.defaults().keys():
            levels = getattr(self, field)
            for level in levels if isinstance(levels, tuple) else (levels,):
                if not 0 <= level <= 1:
                    raise SpecError(f"{self.name}: {field}={level:g}; an overlap lies between 0 and 1")

    def combine(self, rows: Rows) -> Values:
        """Rows of one reference set → numbers. Unless told otherwise, the mean of each field's column."""
        return {f: float(rows[f].mean()) for f in self.fields}

    def fold(self, rows: Rows) -> Values:
        """All rows → numbers: each reference set on its own, then the plain mean over sets."""
        sets = [self.combine(part) for part in rows.sets()]
        return {f: sum(v[f] for v in sets) / len(sets) for f in self.fields}

    def sums(self, rows: Rows) -> Array | None:
        """Columns whose totals over a reference set are all that `combine` needs for the primary number; else None.

        Resampling is then one matrix product (stats/), where a fold of every resample would take minutes. A metric
        that overrides `combine` with another function of totals overrides this pair too. [R, k]
        """
        if type(self).combine is not Metric.combine or rows[self.primary].ndim != 1:
            return None
        return np.stack([rows[self.primary], np.ones(len(rows))], axis=1)

    def of_sums(self, totals: Array) -> Array:
        """The primary number of totals [B, k] → [B]."""
        return np.divide(totals[:, 0], totals[:, 1], out=np.zeros(len(totals)), where=totals[:, 1] > 0)

    def says(self, field: str) -> str:
        """What this setting of a field does, in the words of the file that has the field."""
        value = show(getattr(self, field))
        for cls in type(self).__mro__:
            known: Mapping[str, str] = cls.__dict__.get("rules", {})
            if sentence := known.get(f"{field}={value}") or known.get(field):
                return sentence.replace("{}", value)
        return f"{field} is {value}"

    def telling(self, rows: Rows, field: str) -> NDArray[Any]:
        """What of each row can move this number; units that agree in it are not why two tables differ. [R, k]"""
        if type(self).combine is Metric.combine:
            return rows[field][:, None]
        if field == self.primary and (totals := self.sums(rows)) is not None:
            return totals
        return np.concatenate([c.reshape(len(rows), -1) for c in rows.columns.values()], axis=1)

    def alone(self, rows: Rows, field: str) -> float:
        """The number that the rows of one unit would give by themselves; NaN where they do not count."""
        return self.fold(rows)[field]

    def about(self) -> Mapping[str, str]:
        """What else the signature must name: tokeniser, versions of what it leans on."""
        return {}

    def signature(self, facts: Mapping[str, object]) -> str:
        """Every choice that has ever changed a published number, then the facts of this run."""
        return "|".join([self.full(), *(f"{k}:{v}" for k, v in (*self.about().items(), *facts.items()))])


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def f1(precision: float, recall: float) -> float:
    """2PR/(P+R); 0 when both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
