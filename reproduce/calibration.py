"""Do intervals hold what they say, and does `fabula power` name enough videos? Prints the tables of docs/compare.md.

    python reproduce/calibration.py [data sets]
    python reproduce/calibration.py few [draws] [--data ../shared/data]

`few` takes the scores of real systems, video by video, for the whole world; it draws n videos of them, and looks
whether the interval that `fabula score --ci` prints for these holds the score of all. The bounded
interval and its limits (stats/choose.py) were chosen on the first two systems; the widening from 50 to 200 videos was
added after a short run over all of them.

The rest is SIMULATED: a video's score is μ + the effect of its group + its own; groups have 1 to 9 videos, effects are
normal or skewed (a shifted exponential). An interval of 95 % should hold μ in 95 of 100 data sets; a test at .05 should
find a difference that is not there in 5 of 100. For power, σ is estimated from a pilot of so many videos, n is what
`Power.needed` names, and a test over n fresh videos should find the difference in 80 of 100 data sets.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import fabula
from fabula.core.rows import Rows
from fabula.stats.bootstrap import bootstrap, interval
from fabula.stats.choose import ENOUGH, Chosen, choose_difference, choose_interval
from fabula.stats.few import widen_level
from fabula.stats.paired import randomisation
from fabula.stats.power import power_of_pair, power_of_pilot
from fabula.stats.resampling import Resampling
from fabula.stats.sample import Mean, Sample, samples

DRAWS = 1000
MU = 0.4
VALUE = Mean("value")
HOW = Resampling(resamples=DRAWS)


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


KINDS = {  # what is drawn, and how the interval is made
    "clusters, as printed": (True, "chosen"),
    "clusters, BCa, widened": (True, "widened"),
    "clusters, BCa": (True, "bca"),
    "videos alone, BCa": (False, "bca"),
}


def coverage(sets: int, groups: int, share: float, skewed: bool, seed: int) -> dict[str, float]:
    rng, held = np.random.default_rng(seed), dict.fromkeys(KINDS, 0)
    for n in range(sets):
        scores, of = grouped(rng, groups, share, skewed)
        for name, (clustered, method) in KINDS.items():
            sample = Sample.of(make_rows(scores, of if clustered else None), VALUE)
            if method == "chosen":
                theta = bootstrap([sample], DRAWS, n)[0]
                found = choose_interval(sample, theta, replace(HOW, seed=n), wide=True).interval
            else:
                level = widen_level(0.95, groups) if method == "widened" else 0.95
                found = interval(sample, level=level, resamples=DRAWS, seed=n)
            low, high = found or (0.0, 0.0)
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


# ── few videos of real systems ─────────────────────────────────────────────────────────────────────────────────────

SIZES = (5, 8, 15, 20, 50)
STORIES = ("SODA_c", "mIoU", "METEOR", "CIDEr")


def worlds(data: Path) -> dict[str, dict[str, Sample]]:
    """System → metric → its scores, video by video."""
    anet, bmt, yc2 = data / "anet_captions", data / "anet_preds_bmt", data / "timechat_yc2_dvc"
    val_1 = anet / "val_1.json"
    seen = {
        "BMT, ActivityNet val_1": fabula.score(bmt / "captioning_results_val_1_e26.json", val_1),
        "BMT for val_2, on val_1": fabula.score(bmt / "captioning_results_val_2_e26.json", val_1),
        "TimeChat, YouCook2": fabula.score(yc2 / "pred_anet_format.json", yc2 / "gt_anet_format.json"),
        "Moment-DETR, QVHighlights": fabula.score(
            data / "qvhighlights/sample_val_preds.jsonl", data / "qvhighlights/highlight_val_release.jsonl"
        ),
        "TimeChat, Charades, 500 queries": fabula.score(
            data / "timechat_charades_tvg/pred.json",
            data / "timechat_charades_tvg/gt.json",
            metrics="Grounding(missing=drop)",
        ),
    }
    wanted = (*STORIES, "MR_R1", "Grounding")
    return {
        name: {m: Sample.of(result.rows[m], result.metrics[m]) for m in result.rows if m.split("(")[0] in wanted}
        for name, result in seen.items()
    }


def draw_units(world: Sample, at: np.ndarray) -> Sample:
    """A sample of these units, each as a video of its own."""
    assert world.totals is not None
    totals = world.totals[at]
    rows = totals[..., -1].sum(axis=1).astype(np.int64)
    value = float(world.of_totals(totals.sum(axis=0, keepdims=True))[0])
    videos = tuple(range(len(at)))
    return replace(world, videos=videos, value=value, at=np.repeat(np.arange(len(at)), rows), totals=totals)


def choose_for(some: list[Sample], seed: int) -> Chosen:
    """The interval of one score, or of the difference of two."""
    how, few = replace(HOW, seed=seed), len(some[0].videos) < ENOUGH  # few: the bootstrap is not looked at
    thetas = np.zeros((len(some), 1)) if few else bootstrap(some, DRAWS, seed)
    if len(some) == 1:
        return choose_interval(some[0], thetas[0], how)
    return choose_difference(*some, thetas[1] - thetas[0], how)


def hold(some: list[Sample], truth: float, n: int, draws: int) -> list[str]:
    """Of so many draws of n videos: how often there is an interval, how often it holds the truth, its median width."""
    rng, widths, held = np.random.default_rng(n), [], 0
    for seed in range(draws):
        at = rng.integers(0, len(some[0].videos), n)
        found = choose_for([draw_units(s, at) for s in some], seed).interval
        if found is not None:
            held += found.low - 1e-12 <= truth <= found.high + 1e-12
            widths.append(found.high - found.low)
    if not widths:
        return ["0 %", "–", "–"]
    return [f"{100 * len(widths) / draws:.0f} %", f"{100 * held / len(widths):.1f} %", f"{100 * np.median(widths):.1f}"]


def show_few(draws: int, data: Path) -> None:
    error = 100 * np.sqrt(0.05 * 0.95 / draws)
    print(f"{draws} draws a line, intervals of 95 % with {DRAWS} draws; standard error about {error:.1f} points")
    head("system", "number × 100", "skewness", "videos", "has an interval", "holds", "median width")
    known = worlds(data)
    for name, scores in known.items():
        for metric, world in scores.items():
            x = unit_means(world)
            skewness = ((x - x.mean()) ** 3).mean() / x.std() ** 3
            for n in SIZES:
                told = hold([world], world.value, n, draws)
                row(name, f"{metric} {100 * world.value:.2f}", f"{skewness:.1f}", n, *told)
    first, second = list(known.values())[:2]
    head("difference of the two BMT runs", "videos", "has an interval", "holds", "median width")
    for metric in STORIES:
        a, b = first[metric], second[metric]
        for n in SIZES:
            row(f"{metric} {100 * (b.value - a.value):+.2f}", n, *hold([a, b], b.value - a.value, n, draws))


def unit_means(world: Sample) -> np.ndarray:
    assert world.totals is not None
    return np.array([world.of_totals(t[None])[0] for t in world.totals])


def main() -> None:
    words: list[Any] = sys.argv[1:]
    if words[:1] == ["few"]:
        data = Path(words[words.index("--data") + 1]) if "--data" in words else Path("../shared/data")
        show_few(int(words[1]) if len(words) > 1 and words[1].isdigit() else 4000, data)
        return
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
