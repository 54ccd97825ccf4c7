"""Which interval is printed: the bootstrap's where it was measured to hold, else a bounded one, else none.

The bootstrap holds what it says from 50 units on of which 10 or more carry the spread, made a little wider below 200
(docs/compare.md has the table, `reproduce/calibration.py few` makes it). Elsewhere the interval is the bounded one of
stats/few.py, over the values

    x_v = θ̂ + (n − 1)·(θ̄_(·) − θ_(v))        θ_(v): the score without unit v; for a mean, x_v is the unit's own value

whose scale reaches from 0 to the metric's highest number. Where 5 units or more carry the spread, the ceiling is no
higher than the best unit is above the worst, once more; the floor stays 0, for a silent video scores 0 whatever the
others do. A unit of m rows where the mean unit has m̄ can pull the score m/m̄ times as far.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from fabula.stats.bootstrap import Interval, bca, bootstrap, draws, jackknife, percentile
from fabula.stats.few import bound_mean, count_carriers, widen_level
from fabula.stats.resampling import Resampling
from fabula.stats.sample import Array, Sample, alike

LEAST = 5  # units; fewer give no interval
ENOUGH = 50  # units from which the bootstrap holds,
CARRIERS = 10  # if so many of them carry the spread; and
MANY = 200  # units below which it is made wider as Student's t would have it, by 4 % at 50 and 1 % at 200
SHOWN = 4  # scores that a warning names
SMOOTH = 5  # units that carry the spread from which the best and the worst say how far the scale reaches


class Chosen(NamedTuple):
    """An interval, how it was made, and why it is not the one that was asked for, with {units} for what was drawn."""

    interval: Interval | None
    method: str  # bca, percentile, bounded; "" where there is none
    reason: str = ""


def unit_values(sample: Sample, without: Array) -> Array:
    """What each unit says of the score, by leaving it out. [V]"""
    value = float(sample.under(np.ones((1, len(sample.videos))))[0])  # θ̂, whatever the order of the rows in their file
    found: Array = value + (len(without) - 1) * (without.mean() - without)
    return found


def scale_ends(sample: Sample, values: Array) -> tuple[float, float]:
    """Between which numbers a unit's value must lie; infinite where nothing is known."""
    value, highest = float(values.mean()), float(getattr(sample.folding, "highest", 1.0))
    if not 0 <= value <= highest:
        highest = inf
    rows = np.bincount(sample.at, minlength=len(sample.videos))
    weight = float(rows.max() / rows.mean())
    floor = value * (1 - weight) if value >= 0 else -inf
    ceiling = value + (highest - value) * weight
    return reach(values, min(floor, float(values.min())), max(ceiling, float(values.max())), low=floor == -inf)


def reach(values: Array, floor: float, ceiling: float, low: bool = True) -> tuple[float, float]:
    """The ends, moved in to as far beyond the best (and with `low` the worst) as these are apart."""
    if count_carriers(values) < SMOOTH:
        return floor, ceiling
    least, most = float(values.min()), float(values.max())
    return max(floor, 2 * least - most) if low else floor, min(ceiling, 2 * most - least)


def choose(
    values: Array, ends: tuple[float, float], theta: Array, without: Array, value: float, how: Resampling, wide: bool
) -> Chosen:
    """The interval of a score whose draws theta [B] and jackknife [V] are known; `wide`: over groups, as --cluster."""
    n = len(values)
    if not np.isfinite(values).all():
        return Chosen(None, "", "some {units} have no number")
    carriers = count_carriers(values)
    if n >= ENOUGH and carriers >= CARRIERS:
        level = widen_level(how.level, n) if wide or n < MANY else how.level
        found = percentile(theta, level) if how.method == "percentile" else bca(theta, value, without, level)
        return Chosen(found, how.method)
    few = f"{n} {{units}} are too few for a bootstrap"
    if n >= ENOUGH:
        few = f"the spread rests on {round(carriers)} of {n} {{units}}, too few for a bootstrap"
    if n < LEAST:
        return Chosen(None, "", f"{n} {{units}} are too few, an interval needs {LEAST}")
    if not all(map(isfinite, ends)):
        return Chosen(None, "", f"{few}, and the number has no end that would bound it")
    low, high = bound_mean(values, *ends, how.level, how.resamples, how.seed)
    return Chosen(Interval(min(low, value), max(high, value)), "bounded", few)


def choose_interval(sample: Sample, theta: Array, how: Resampling, wide: bool = False) -> Chosen:
    """Of one score."""
    without = jackknife(sample)
    values = unit_values(sample, without)
    chosen = choose(values, scale_ends(sample, values), theta, without, sample.value, how, wide)
    if chosen.method != "bounded" or chosen.interval is None or sample.value < 0:
        return chosen
    low, high = chosen.interval
    highest = max(sample.value, float(getattr(sample.folding, "highest", 1.0)))
    return chosen._replace(interval=Interval(max(low, 0.0), min(high, highest)))


def choose_difference(a: Sample, b: Sample, deltas: Array, how: Resampling, wide: bool = False) -> Chosen:
    """Of θ_b − θ_a over the same units; a unit may be silent in either."""
    first, second = jackknife(a), jackknife(b)
    x, y = unit_values(a, first), unit_values(b, second)
    (floor_a, ceiling_a), (floor_b, ceiling_b) = scale_ends(a, x), scale_ends(b, y)
    ends = reach(y - x, floor_b - ceiling_a, ceiling_b - floor_a)
    return choose(y - x, ends, deltas, second - first, b.value - a.value, how, wide)


def choose_intervals(by_name: Mapping[str, Sample], how: Resampling, wide: bool = False) -> dict[str, Chosen]:
    """Of every score; scores over the same units share their draws."""
    found: dict[str, Chosen] = {}
    for group in alike({name: [sample] for name, sample in by_name.items()}):
        thetas = bootstrap([by_name[name] for name in group], how.resamples, how.seed)
        found |= {
            name: choose_interval(by_name[name], theta, how, wide) for name, theta in zip(group, thetas, strict=True)
        }
    return found


def choose_apart(many: Sequence[Sample], how: Resampling) -> list[Chosen]:
    """Of scores over units of their own. Equally many units are drawn alike: such samples share their draws."""
    found: dict[int, Chosen] = {}
    for n in dict.fromkeys(len(sample.videos) for sample in many):
        places = [k for k, sample in enumerate(many) if len(sample.videos) == n]
        parts = [[many[k].under(W) for k in places] for W in draws(n, how.resamples, how.seed)]
        thetas = np.concatenate([np.array(part) for part in parts], axis=1)
        found |= {k: choose_interval(many[k], theta, how) for k, theta in zip(places, thetas, strict=True)}
    return [found[k] for k in range(len(many))]


def tell_choices(chosen: Iterable[tuple[str, Chosen]], units: str) -> list[str]:
    """One warning for each reason, with the scores that it holds for."""
    why: dict[tuple[str, str], dict[str, None]] = {}
    for name, one in chosen:
        if one.reason:
            why.setdefault((one.method, one.reason.format(units=units)), {})[name] = None
    return [
        f"{list_names(list(names))}: {reason}; "
        + ("the interval is a bounded one, wide enough to hold (docs/compare.md)" if method else "no interval")
        for (method, reason), names in why.items()
    ]


def name_methods(methods: Iterable[str]) -> str:
    """The kinds of interval that were used, as a line says them; none where there is no interval."""
    return "+".join(sorted(set(filter(None, methods)))) or "none"


def choose_percentile(theta: Array, n: int, how: Resampling) -> Chosen:
    """Of a number whose draws alone are known, over n units: nothing bounds it, so that few units give no interval."""
    drawn = theta[np.isfinite(theta)]
    if n < ENOUGH or not len(drawn):
        return Chosen(None, "", f"{n} {{units}} are too few, an interval of a ratio needs {ENOUGH}")
    return Chosen(percentile(drawn, widen_level(how.level, n) if n < MANY else how.level), "percentile")


def list_names(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= SHOWN else f"{', '.join(names[:SHOWN])} and {len(names) - SHOWN} more"
