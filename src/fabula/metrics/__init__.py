"""One task metric per file, file name = metric name: unit(ref, pred, ctx) → row, combine(rows) → values."""

from __future__ import annotations

from typing import Any

from fabula.core import spec
from fabula.core.registry import Room
from fabula.metrics._base import Metric

__all__ = ["Metric", "default", "metric", "room"]

room = Room(__name__, "Metric", "metric")


def metric(text: str, **params: Any) -> Metric:
    """A metric from its string: `SODA_c`, `SODA_c(refs=best)`, `PRF(top=15)@0.5`; or by name and keyword."""
    name, given = spec.parse(text)
    made: Metric = room.get(name)(**params)
    return made.with_params(given)


def default(task: str) -> list[Metric]:
    """Every metric of a task, as it comes."""
    return [cls() for cls in room.all() if task in cls.tasks]
