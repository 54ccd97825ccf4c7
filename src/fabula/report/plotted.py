"""What `fabula plot` draws: a scatter, curves over thresholds or intervals, from results and rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path

from fabula import metrics
from fabula.core.errors import InputError, SpecError, shown
from fabula.core.registry import close_to
from fabula.core.rows import wide
from fabula.data.result import Result, Score
from fabula.documents.files import check_path
from fabula.documents.rows import Table, gather, read_columns
from fabula.evaluate.saved import load_result
from fabula.report.drawing.plots import Interval, Intervals, Scatter, ThresholdCurves

System = str | Path | Result
LEADING = ("SODA_c", "SODA_d", "iSPICE", "METEOR", "MR_mAP", "VCMR", "SVMR")
AT = re.compile(r"^(.*?)@([0-9.]+)$")  # r1@0.5


def name_systems(systems: Sequence[System], names: Sequence[str]) -> list[str]:
    """As they are called, or after their files; each name once."""
    if names and len(names) != len(systems):
        raise SpecError(f"{len(names)} names for {len(systems)} systems; give --names one for each")
    own = [(f"system {k}" if isinstance(s, Result) else Path(s).name.split(".")[0]) for k, s in enumerate(systems, 1)]
    chosen = list(names or own)
    return [n if chosen.index(n) == k else f"{n} ({chosen[: k + 1].count(n)})" for k, n in enumerate(chosen)]


def read_result(system: System) -> Result:
    if isinstance(system, Result):
        return system
    path = check_path(system)
    found = load_result(path)
    if found is None:
        raise InputError("no result of fabula score --json", file=path, hint="write one with --json result.json")
    return found


# --- scatter ---------------------------------------------------------------------------------------------------------


def make_scatter(systems: Sequence[System], names: Sequence[str], wanted: Sequence[str]) -> Scatter:
    """The videos that both have, and on how many either is higher."""
    if len(systems) != 2:
        raise SpecError(f"a scatter compares two systems, {len(systems)} are named")
    if len(wanted) > 1:
        raise SpecError("a scatter shows one metric; name one with --metrics")
    (first, unit), (second, _) = (read_rows(system) for system in systems)
    column = choose_column(wanted[0] if wanted else None, first, second, systems)
    unit = "item" if unit == "id" else unit
    scale = scale_of(column)
    a, b = first[column], second[column]
    shared = [key for key in a if key in b and isfinite(a[key]) and isfinite(b[key])]
    if not shared:
        raise InputError(f"the two have no {unit} in common", file=str(systems[1]), hint="score both on the same files")
    points = [(a[key] * scale, b[key] * scale) for key in shared]
    above, below = sum(y > x for x, y in points), sum(y < x for x, y in points)
    return Scatter(column, (names[0], names[1]), points, above, below, len(points) - above - below, unit)


def read_rows(system: System) -> tuple[Table, str]:
    """Numbers by video, and what a row is."""
    if isinstance(system, Result):
        return gather(wide(system.rows), "the result")
    return read_columns(system)


def choose_column(wanted: str | None, a: Table, b: Table, systems: Sequence[System]) -> str:
    """The column that was named, or the primary one of a metric that was; unasked, of the first that both have."""
    both = [column for column in a if column in b]
    if not both:
        raise InputError("the two share no column of numbers", file=str(systems[1]), hint="score both with one command")
    for name in [wanted] if wanted else LEADING:
        if name in both:
            return str(name)
        own = [c for c in both if c.startswith(f"{name}.")]
        primary = f"{name}.{primary_of(str(name))}"
        if own and (primary in own or not wanted):
            return primary if primary in own else own[0]
        if own:
            raise SpecError(f"{name} has {', '.join(own)}; name one of them with --metrics")
    if wanted:
        known = [*dict.fromkeys(column.partition(".")[0] for column in both), *both]
        raise SpecError(f"no column is called {shown(wanted)}; {close_to(wanted, known)}")
    return both[0]


def primary_of(name: str) -> str:
    try:
        return metrics.metric(name).primary
    except SpecError:
        return "value"


def scale_of(column: str) -> float:
    """What tables print the numbers of a metric times."""
    try:
        return metrics.metric(column.partition(".")[0]).scale
    except SpecError:
        return 100.0


# --- results ---------------------------------------------------------------------------------------------------------


def make_curves(results: Mapping[str, Result], wanted: Sequence[str]) -> ThresholdCurves:
    """Lines of one metric for several systems, or of several metrics."""
    first = next(iter(results.values()))
    able = [name for name, score in first.scores.items() if list_thresholds(score, None)]
    if not wanted:
        lead = next((name for name in LEADING if name in able), None) or next(iter(able), None)
        if lead is None:
            raise SpecError("no metric of the result has several thresholds; PRF, SODA_a and the moment metrics have")
        wanted = [lead]
    lines: dict[str, list[tuple[float, float]]] = {}
    for system, result in results.items():
        for asked in wanted:
            score, part = find_score(result, asked, system)
            points = list_thresholds(score, part)
            if not points:
                raise SpecError(
                    f"{asked} of {system} has no numbers at several thresholds; those of {able or 'none'} have"
                )
            label = system if len(wanted) == 1 else asked if len(results) == 1 else f"{system}, {asked}"
            lines[label] = [(t, v * score.scale) for t, v in points]
    one = wanted[0] if len(wanted) == 1 else "score"
    seconds = any(t > 1 for points in lines.values() for t, _ in points)
    return ThresholdCurves(one, lines, "seconds" if seconds else "tIoU threshold")


def list_thresholds(score: Score, part: str | None) -> list[tuple[float, float]]:
    """(threshold, number) in order: the metric's own, or those in the names of its numbers, r1@0.5 and r1@0.7."""
    field = part or score.primary
    if score.by_threshold:
        found = [(float(t), v.get(field, v.get("value"))) for t, v in score.by_threshold.items()]
    else:
        match = AT.match(field)
        stem = match.group(1) if match else field
        named = ((AT.match(f), v) for f, v in score.values.items())
        found = [(float(m.group(2)), v) for m, v in named if m and m.group(1) == stem]
    known = sorted((t, v) for t, v in found if v is not None and isfinite(v))
    return known if len(known) > 1 else []


def make_intervals(results: Mapping[str, Result], wanted: Sequence[str]) -> Intervals:
    first = next(iter(results.values()))
    shared = [name for name in first.scores if all(name in r.scores for r in results.values())]
    wanted = wanted or shared
    if not wanted:
        raise SpecError("the results have no metric in common; score all with the same --metrics")
    strips: dict[str, list[Interval]] = {}
    for asked in wanted:
        for system, result in results.items():
            score, part = find_score(result, asked, system)
            value = score.values[part] if part else score.value
            ends = (score.ci or {}).get(part or score.primary)
            if not isfinite(value):
                raise SpecError(f"{asked} of {system} is the mean of nothing; leave it out with --metrics")
            low, high = (None, None) if ends is None else (ends[0] * score.scale, ends[1] * score.scale)
            strips.setdefault(asked, []).append(Interval(system, value * score.scale, low, high))
    if all(interval.low is None for strip in strips.values() for interval in strip):
        raise SpecError("none of these results has intervals; score with --ci --json, or plot thresholds")
    return Intervals(strips)


def find_score(result: Result, asked: str, system: str) -> tuple[Score, str | None]:
    """A metric, and maybe which of its numbers: SODA_c, SODA_c.precision."""
    if asked in result.scores:
        return result.scores[asked], None
    name, _, part = asked.rpartition(".")
    if name in result.scores and part in result.scores[name].values:
        return result.scores[name], part
    for name, score in result.scores.items():  # r1@0.5 has a dot of its own
        if asked.startswith(f"{name}.") and asked[len(name) + 1 :] in score.values:
            return score, asked[len(name) + 1 :]
    raise SpecError(f"{system} has no {shown(asked)}; {close_to(asked, list(result.scores))}")
