"""Simulated raters: position bias cancels where positions are balanced and only there; the rule finds those who click
at random; the power by formula is that of the simulation."""

from __future__ import annotations

import random
from statistics import mean

import pytest

from fabula.core.errors import SpecError
from fabula.studies import report
from fabula.studies import steps as api
from fabula.studies.design import make_design
from fabula.studies.items import Item
from fabula.studies.plan import Analysis, Plan
from fabula.studies.power import reach
from fabula.studies.raters import KINDS, World, deal_kinds, simulate
from fabula.studies.results import find_results
from tests.studies.made import make_plan


def make(form="preference", count=100, systems=("coarse", "fine"), **settings):
    plan = Plan(title="t", form=form, items="x", analysis=Analysis(resamples=1), **settings)
    return plan, make_design(plan, [Item(str(i), "v", 0, 2, {s: f"{s} {i}" for s in systems}) for i in range(count)])


def run(plan, design, mix, world, studies):
    for seed in range(studies):
        answers, kinds = simulate(plan, design, mix, world, seed)
        yield find_results(answers), kinds


@pytest.mark.parametrize("form", ["preference", "richer"])
def test_position_bias_cancels_only_where_it_is_balanced(form):
    """Raters take the first description four times in ten, whatever it says; the systems are equally good."""
    world, found = World(effect=0.0, bias=0.4), {}
    for balance in (True, False):
        plan, design = make(form, balance=balance)
        results = [r for r, _ in run(plan, design, {"left": 1}, world, 12)]
        found[balance] = mean(r.lines[0].estimate.value for r in results)
        first = mean(r.sides[0].estimate.value for r in results)
        assert first == pytest.approx(0.7, abs=0.03)  # seen in either design
        hits = mean(r.duels[0].p < 0.05 for r in results)
        assert hits <= 0.3 if balance else hits == 1
    assert found[True] == pytest.approx(0.5, abs=0.02)
    assert found[False] == pytest.approx(0.3, abs=0.03)  # the target stood second: ½ − ½·0.4


@pytest.mark.parametrize(
    ("form", "least"), [("richer", 0.99), ("scale", 0.9), ("preference", 0.85), ("rank", 0.95), ("true", 0.6)]
)
def test_the_rule_finds_random_clickers(form, least):
    """Rates over a hundred raters of each kind or so; who is careful stays."""
    systems = ("a", "b", "c") if form == "rank" else ("a", "b")
    plan, design = make(form, 100, systems)
    seen: dict[str, list[bool]] = {}
    for result, kinds in run(plan, design, {"careful": 1, "random": 1}, World(), 12):
        for c in result.conduct:
            seen.setdefault(kinds[c.rater], []).append(c.excluded)
    assert len(seen["random"]) >= 50
    assert mean(seen["random"]) >= least, mean(seen["random"])
    assert mean(seen["careful"]) <= 0.05, mean(seen["careful"])


@pytest.mark.parametrize(
    ("form", "count", "effect"),
    [
        ("preference", 100, 0.25),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (("richer", 60, 0.35), ("scale", 60, 0.4), ("true", 100, 0.3))
        ),
    ],
)
def test_power_is_that_of_the_simulation(form, count, effect):
    plan, design = make(form, count, checks=0)
    reached = reach(plan, design)
    studies = 80
    hits = sum(
        next(d for d in r.duels if d.measure == plan.primary).p < 0.05
        for r, _ in run(plan, design, {"careful": 1}, World(effect=effect), studies)
    )
    power = reached.power(effect * reached.sigma)
    assert 0.2 < power < 0.97
    three = 3 * (power * (1 - power) / studies) ** 0.5
    assert abs(hits / studies - power) < three + 0.05, (hits / studies, power)


def test_what_a_plan_can_find():
    plan, design = make(count=100)
    reached = reach(plan, design)
    assert reached.power(reached.smallest) == pytest.approx(0.8, abs=1e-3)
    assert reached.power(0.0) == pytest.approx(0.05, abs=1e-3)
    more, larger = make(count=400)
    assert reach(more, larger).smallest < 0.6 * reached.smallest
    alone, single = make(count=5, raters_per_question=1, questions=5)
    assert reach(alone, single).smallest != reach(alone, single).smallest  # one rater finds nothing


def test_kinds_are_dealt_by_largest_remainder():
    rng = random.Random(0)
    kinds = deal_kinds(10, {"careful": 2, "random": 1}, rng)
    assert (kinds.count("careful"), kinds.count("random")) == (7, 3)
    assert sorted(deal_kinds(4, dict.fromkeys(KINDS, 1.0), rng)) == sorted(KINDS)
    for mix, said in (
        ({"lazy": 1}, "no rater is called 'lazy'"),
        ({"careful": 0}, "empty"),
        ({"careful": -1}, "a share"),
    ):
        with pytest.raises(SpecError, match=said):
            deal_kinds(4, mix, rng)


def test_simulated_studies_say_so_wherever_they_appear(tmp_path):
    plan = make_plan(tmp_path, count=12, questions=12, checks=2)
    options = api.SimulateOptions(studies=3, out=tmp_path / "sim", mix="careful=1")
    told = api.simulate(plan, options=options)
    assert told["simulated"] and told["raters"] == 3 and told["studies"] == 3
    found = api.results(tmp_path / "sim")
    assert found.simulated and "simulated" in found.warnings[0] and all(t.simulated for t in found.table)
    assert "SIMULATED" in next(iter(report.plain(found))) and "SIMULATED" in next(iter(report.latex(found)))
    assert "these raters are simulated" in report.page(found)
