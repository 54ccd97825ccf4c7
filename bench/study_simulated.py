"""Simulated studies by the hundred: position bias, whom the rule leaves out, power by formula against power found.

    python bench/study_simulated.py [--studies 100]

Prints the tables of docs/study.md. Nothing here was said by people.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from statistics import mean
from typing import Any

from fabula.studies.design import make_design
from fabula.studies.items import Item
from fabula.studies.plan import Analysis, Plan
from fabula.studies.power import reach
from fabula.studies.raters import KINDS, World, simulate
from fabula.studies.results import find_results


def make(form: str, count: int, **settings: Any) -> tuple[Plan, Any]:
    names = ("a", "b", "c") if form == "rank" else ("coarse", "fine")
    plan = Plan(title="simulated", form=form, items="x", analysis=Analysis(resamples=1), **settings)
    return plan, make_design(plan, [Item(str(i), "v", 0, 2, {s: f"{s} {i}" for s in names}) for i in range(count)])


def run(plan: Plan, design: Any, mix: dict[str, float], world: World, studies: int) -> Iterator[tuple[Any, list[str]]]:
    for seed in range(studies):
        answers, kinds = simulate(plan, design, mix, world, seed)
        yield find_results(answers), kinds


def show_bias(studies: int) -> None:
    print("| raters lean left | positions | R_s of equal systems | first description ahead | differences found |")
    print("|---|---|---:|---:|---:|")
    for mix in ({"careful": 1.0}, {"left": 1.0}):
        for balance in (True, False):
            plan, design = make("richer", 100, balance=balance)
            found = [r for r, _ in run(plan, design, mix, World(effect=0.0), studies)]
            value = 100 * mean(r.lines[0].estimate.value for r in found)
            first = 100 * mean(r.sides[0].estimate.value for r in found)
            hits = mean(r.duels[0].p < 0.05 for r in found)
            where = "counter-balanced" if balance else "target second"
            lean = "in two of five" if "left" in mix else "no"
            print(f"| {lean} | {where} | {value:.1f} | {first:.1f} | {hits:.0%} |", flush=True)


def show_rule(studies: int) -> None:
    print("| left out | " + " | ".join(KINDS) + " |")
    print("|---|" + "---:|" * len(KINDS))
    for form in ("richer", "preference", "rank", "scale", "true"):
        plan, design = make(form, 100)
        seen: dict[str, list[bool]] = {kind: [] for kind in KINDS}
        for result, kinds in run(plan, design, dict.fromkeys(KINDS, 1.0), World(), studies):
            for c in result.conduct:
                seen[kinds[c.rater]].append(c.excluded)
        cells = [f"{100 * mean(some):.1f} % of {len(some)}" for some in seen.values()]
        print(f"| {form} | " + " | ".join(cells) + " |", flush=True)


def show_power(studies: int) -> None:
    print("| form | items | raters | effect | power by formula | found in simulation | interval holds the effect |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    settings = [("preference", 30, 0.0), ("preference", 30, 0.6), ("preference", 100, 0.0), ("preference", 100, 0.25)]
    settings += [("richer", 60, 0.35), ("scale", 60, 0.4), ("true", 100, 0.3)]
    for form, count, effect in settings:
        plan, design = make(form, count, checks=0)
        reached = reach(plan, design)
        wanted = effect * reached.sigma
        found = [
            next(d for d in r.duels if d.measure == plan.primary)
            for r, _ in run(plan, design, {"careful": 1.0}, World(effect=effect), studies)
        ]
        hits = mean(d.p < 0.05 for d in found)
        held = mean(d.estimate.interval.low <= wanted <= d.estimate.interval.high for d in found)
        power = reached.power(wanted)
        print(
            f"| {form} | {count} | {design.raters} | {wanted:.2f} | {power:.3f} | {hits:.3f} | {held:.3f} |", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=100)
    studies = parser.parse_args().studies
    for show in (show_bias, show_rule, show_power):
        show(studies)
        print()


if __name__ == "__main__":
    main()
