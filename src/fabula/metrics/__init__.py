"""One task metric per file, on the shelf of what it reads; file name = metric name, or that of its family."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fabula.core import spec
from fabula.core.errors import SpecError
from fabula.core.registry import Room, close_to, key
from fabula.metrics.base import Metric

__all__ = ["Metric", "check_choice", "check_parser", "default", "is_ambiguous", "metric", "room", "set_parser"]

SHELVES = {
    "stories": ("dense", "procedure"),
    "captions": ("captions",),
    "moments": ("moments", "highlights", "grounding"),
    "regions": ("regions",),
    "identity": ("identity",),
    "questions": ("questions",),
}  # shelf → the tasks that show its metrics
DENSE = "DVC_"  # in the task dense, METEOR is DVC_METEOR: captions are compared where segments overlap


def check_metric(thing: Any) -> str | None:
    """What is wrong with a metric of another package."""
    from fabula.core.plugins import check_class

    if problem := check_class(thing, Metric, "metric"):
        return problem
    if thing.reads not in SHELVES:
        return (
            f"leads to a metric that reads {thing.reads!r}, which is none of {', '.join(SHELVES)}: take a shelf's base"
        )
    if not thing.tasks or set(thing.tasks) - {task for tasks in SHELVES.values() for task in tasks}:
        return f"leads to a metric of the tasks {thing.tasks!r}, which are not all known"
    thing()  # prints itself, with nothing said
    return None


room = Room(__name__, "Metric", "metric", tuple(SHELVES), group="fabula.metrics", check=check_metric)

Wanted = str | Metric | Sequence[str | Metric]  # metrics as a user names them


def metric(text: str, task: str | None = None, **params: Any) -> Metric:
    """A metric from its string: `SODA_c`, `SODA_c(refs=best)`, `PRF(top=15)@0.5`; or by name and keyword.

    A task may call another metric by the same name: in `dense`, METEOR is DVC_METEOR.

    Examples:

        >>> print(fabula.metric("SODA_c(refs=best)"), fabula.metric("PRF", top=15))
        SODA_c(refs=best) PRF(top=15)@0.5
    """
    name, params_of_text = spec.parse(text)
    cls = find_class(name, task)
    for field in params:
        if field not in cls.defaults():
            raise SpecError(f"{cls.name} has no parameter {field!r}; {close_to(field, list(cls.defaults()))}")
    return cls(**params).with_params(params_of_text)


def find_class(name: str, task: str | None) -> type[Metric]:
    """Ours come first, and other packages are looked through only for what is not ours."""
    tried = [DENSE + name, name] if task == "dense" else [name]
    own: type[Metric] | None = next((m for m in map(room.find_own, tried) if m is not None), None)
    found = own or next((m for m in map(room.find_outside, tried) if m is not None), None)
    return found or room.get(name)


def is_ambiguous(name: str) -> bool:
    """True where the name means one metric or another, depending on the task."""
    if room.find_own(DENSE + name) is not None:
        return True
    return room.find_own(name) is None and any(key(p.name) == key(DENSE + name) for p in room.plugins())


def names_of(wanted: Wanted) -> list[str]:
    """Those that are given as text."""
    wanted_metrics = spec.split(wanted) if isinstance(wanted, str) else wanted if isinstance(wanted, Sequence) else []
    return [name for name in wanted_metrics if isinstance(name, str)]


def check_choice(wanted: Wanted, field: str, value: str | None) -> None:
    """Refuse a spec that sets a field which the option of the same name sets otherwise for all metrics."""
    for name in names_of(wanted) if value else ():
        if spec.parse(name)[1].get(field, value) != value:
            raise SpecError(f"{name} and --{field} {value} contradict each other; leave one of the two out")


def set_parser(wanted_metrics: Sequence[Metric], spice: str | None) -> list[Metric]:
    """With `--spice`, the metrics of scene graphs have them from that parser; none may ask for the other one."""
    if spice is None:
        return list(wanted_metrics)
    for m in wanted_metrics:
        if m.param("spice") not in (None, spice, m.defaults().get("spice")):
            raise SpecError(f"{m} and --spice {spice} contradict each other; leave one of the two out")
    return [m.with_params({"spice": spice}) if "spice" in m.defaults() else m for m in wanted_metrics]


def check_parser(wanted_metrics: Iterable[Metric], spice: str | None) -> None:
    """Refuse a `--spice` that nothing uses."""
    if spice and not any("spice" in m.defaults() for m in wanted_metrics):
        raise SpecError(f"--spice {spice} is for SPICE and iSPICE, and no metric of scene graphs is asked for")


def default(task: str) -> list[Metric]:
    """Every metric a task shows unasked, as it comes."""
    shelf = next((shelf for shelf, tasks in SHELVES.items() if task in tasks), None)
    return [cls() for cls in room.all(shelf) if task in cls.tasks and cls.shown]
