"""Do clustered intervals hold what they say, and does `fabula power` name enough videos? By simulated data.

    python reproduce/calibration.py [data sets]

SIMULATED: a video's score is μ + the effect of its group + its own; groups have 1 to 9 videos, effects are normal or
skewed (a shifted exponential). An interval of 95 % should hold μ in 95 of 100 data sets; a test at .05 should find a
difference that is not there in 5 of 100. For power, σ is estimated from a pilot of so many videos, n is what
`Power.needed` names, and a test over n fresh videos should find the difference in 80 of 100 data sets. Prints the
tables of docs/compare.md.
"""

from __future__ import annotations

import sys

import numpy as np

from fabula.core.rows import Rows
from fabula.stats.bootstrap import interval
from fabula.stats.few import widen_level
from fabula.stats.paired import randomisation
from fabula.stats.power import power_of_pair, power_of_pilot
from fabula.stats.sample import Mean, Sample, samples

DRAWS = 1000
MU = 0.4
VALUE = Mean("value")


def effects(rng: np.random.Generator, n: int, skewed: bool) -> np.ndarray:
    return rng.exponential(1.0, n) - 1.0 if skewed else rng.normal(0.0, 1.0, n)


def make_rows(scores: np.ndarray, groups: np.ndarray | None = None) -> Rows:
    keys = tuple(f"v{i:05}" for i in range(len(scores)))
    clusters = None if groups is None else tuple(f"g{g}" for g in groups.tolist())
    return Rows(keys, np.zeros(len(keys), dtype=np.int64), {"value": scores}, "video", clusters)


def grouped(rng: np.random.Generator, groups: int, share: float, skewed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Scores whose variance is .1²; `share` of it is the groups'."""
    of = np.repeat(np.arange(groups), rng.integers(1, 10, groups))
    own = effects(rng, groups, skewed)[of] * np.sqrt(share) + rng.normal(0, 1, len(of)) * np.sqrt(1 - share)
    return MU + 0.1 * own, of


KINDS = {  # what is drawn, how the interval is made, and whether it is widened as --cluster does
    "clusters, BCa": (True, "bca", True),
    "clusters, percentile": (True, "percentile", True),
    "clusters, BCa, not widened": (True, "bca", False),
    "videos alone, BCa": (False, "bca", False),
}


def coverage(sets: int, groups: int, share: float, skewed: bool, seed: int) -> dict[str, float]:
    rng, held = np.random.default_rng(seed), dict.fromkeys(KINDS, 0)
    for n in range(sets):
        scores, of = grouped(rng, groups, share, skewed)
        for name, (clustered, method, wide) in KINDS.items():
            rows = make_rows(scores, of if clustered else None)
            level = widen_level(0.95, groups) if wide else 0.95
            low, high = interval(Sample.of(rows, VALUE), level=level, method=method, resamples=DRAWS, seed=n)
            held[name] += low <= MU <= high
    return {name: count / sets for name, count in held.items()}


def size(sets: int, groups: int, share: float, seed: int) -> dict[str, float]:
    """How often the test finds a difference between two systems that are equally good, each with its own groups."""
    rng, found = np.random.default_rng(seed), {"clusters": 0, "videos": 0}
    for n in range(sets):
        of = np.repeat(np.arange(groups), rng.integers(1, 10, groups))
        own = [
            effects(rng, groups, False)[of] * np.sqrt(share) + rng.normal(0, 1, len(of)) * np.sqrt(1 - share)
            for _ in "ab"
        ]
        for name in found:
            tables = [(make_rows(MU + 0.1 * x, of if name == "clusters" else None), VALUE) for x in own]
            found[name] += randomisation(*samples(tables), trials=DRAWS, seed=n) < 0.05
    return {name: count / sets for name, count in found.items()}


def pair(rng: np.random.Generator, n: int, d: float, skewed: bool) -> list[tuple[Rows, Mean]]:
    """Two systems that share three quarters of a video's variance; the second is better by d."""
    shared = effects(rng, n, skewed) * np.sqrt(0.75)
    return [(make_rows(MU + k * d + 0.1 * (shared + effects(rng, n, skewed) * 0.5)), VALUE) for k in range(2)]


def power(sets: int, pilot: int, d: float, skewed: bool, alone: bool, seed: int) -> tuple[float, float]:
    """The mean n that is named, and how often a test over n fresh videos finds d."""
    rng, found, named = np.random.default_rng(seed), 0, []
    for n in range(sets):
        a, b = samples(pair(rng, pilot, d, skewed))
        made = power_of_pilot("x", a, 0.75, 0.05, 0.8) if alone else power_of_pair("x", a, b, 0.05, 0.8)
        named.append(made.needed(d))
        found += randomisation(*samples(pair(rng, named[-1], d, skewed)), trials=DRAWS, seed=n) < 0.05
    return float(np.mean(named)), found / sets


def row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def head(*cells: str) -> None:
    print()
    row(*cells)
    row(*("---" for _ in cells))


def main() -> None:
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    error = 100 * np.sqrt(0.05 * 0.95 / sets)
    print(f"SIMULATED, {sets} data sets a line, {DRAWS} draws; standard error about {error:.1f} points")
    head("groups", "their share of the variance", "effects", *KINDS)
    for groups in (5, 10, 20, 50):
        for share, skewed in ((0.5, False), (0.5, True), (0.0, False)):
            told = coverage(sets, groups, share, skewed, groups)
            row(groups, f"{share:.0%}", "skewed" if skewed else "normal", *(f"{100 * x:.1f} %" for x in told.values()))
    head("groups", "found though not there: clusters", "videos alone")
    for groups in (5, 10, 20, 50):
        told = size(sets, groups, 0.5, groups)
        row(groups, f"{100 * told['clusters']:.1f} %", f"{100 * told['videos']:.1f} %")
    head("from", "difference", "effects", "videos named (mean)", "found")
    for pilot, alone in ((30, False), (100, False), (100, True)):
        for d in (0.01, 0.02):
            for skewed in (False, True):
                n, share = power(sets // 2, pilot, d, skewed, alone, pilot)
                of = f"a pilot of {pilot}, ρ = .75" if alone else f"two systems, {pilot} videos"
                row(of, d, "skewed" if skewed else "normal", f"{n:.0f}", f"{100 * share:.1f} %")


if __name__ == "__main__":
    main()
