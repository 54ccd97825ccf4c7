"""One task metric per file, file name = metric name: unit(ref, pred, ctx) → row, combine(rows) → values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fabula.core import spec
from fabula.core.errors import SpecError
from fabula.core.registry import Room, close_to, key
from fabula.metrics._base import Metric

__all__ = ["Metric", "check_parsing", "default", "metric", "one_choice", "one_parser", "parsed_by", "room"]

room = Room(__name__, "Metric", "metric")


def metric(text: str, task: str | None = None, **params: Any) -> Metric:
    """A metric from its string: `SODA_c`, `SODA_c(refs=best)`, `PRF(top=15)@0.5`; or by name and keyword.

    A task may call another metric by the same name: in `dense`, METEOR is DVC_METEOR.
    """
    name, given = spec.parse(text)
    cls = named(name, task)
    for field in params:
        if field not in cls.defaults():
            raise SpecError(f"{cls.name} has no parameter {field!r}; {close_to(field, list(cls.defaults()))}")
    return cls(**params).with_params(given)


def named(name: str, task: str | None) -> type[Metric]:
    for cls in room.all() if task else ():
        if task in cls.tasks and cls.label and key(cls.label) == key(name):
            found: type[Metric] = cls
            return found
    chosen: type[Metric] = room.get(name)
    return chosen


def ambiguous(name: str) -> bool:
    """True where the name means one metric or another, depending on the task."""
    return any(cls.label and key(cls.label) == key(name) for cls in room.all())


def one_parser(wanted: str | Metric | Sequence[str | Metric], spice: str | None) -> None:
    """Refuse a spec that names its parser, be it the default one, beside a `--spice` that names the other."""
    one_choice(wanted, "spice", spice)


def one_choice(wanted: str | Metric | Sequence[str | Metric], field: str, said: str | None) -> None:
    """Refuse a spec that sets a field which the option of the same name sets otherwise for all metrics."""
    names = spec.split(wanted) if isinstance(wanted, str) else [wanted] if isinstance(wanted, Metric) else wanted
    for name in (n for n in names if said and isinstance(n, str)):
        if spec.parse(name)[1].get(field, said) != said:
            raise SpecError(f"{name} and --{field} {said} contradict each other; leave one of the two out")


def parsed_by(some: Sequence[Metric], spice: str | None) -> list[Metric]:
    """With `--spice`, the metrics of scene graphs have them from that parser; none may ask for the other one."""
    if spice is None:
        return list(some)
    with_graphs = [m for m in some if "spice" in m.defaults()]
    for m in with_graphs:
        if getattr(m, "spice") not in (spice, m.defaults()["spice"]):  # noqa: B009  (only some metrics have it)
            raise SpecError(f"{m} and --spice {spice} contradict each other; leave one of the two out")
    return [m.with_params({"spice": spice}) if m in with_graphs else m for m in some]


def check_parsing(some: Iterable[Metric], spice: str | None) -> None:
    """Refuse a `--spice` that nothing uses."""
    if spice and not any("spice" in m.defaults() for m in some):
        raise SpecError(f"--spice {spice} is for SPICE and iSPICE, and no metric of scene graphs is asked for")


def default(task: str) -> list[Metric]:
    """Every metric a task shows unasked, as it comes."""
    return [cls() for cls in room.all() if task in cls.tasks and cls.shown]
