"""Simulated raters for planning and tests; their answers are marked as simulated everywhere.

The world: of two systems shown together the later one (the target is the last) is ahead by

    d = δ + a_r + b_q + e        δ: the effect;  a_r, b_q: what rater and question add, variance ρ_r, ρ_q;  var d = 1

A choice falls on the later system with probability (1 + δ + a_r + b_q)/2; marks stand d apart around 3½; ranks follow
qualities that lie δ apart. Then the raters:

    careful   answers as the world is; misses a check in 50
    hasty     answers two in five at random, soon after the clip; misses three checks in ten
    random    chooses anything; passes a check by luck
    left      careful, but takes the first description in `bias` of the choices, and marks it a point higher as often
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from math import exp

from fabula.core.errors import SpecError
from fabula.studies.design import Design, Slot
from fabula.studies.forms import Form
from fabula.studies.plan import Plan
from fabula.studies.results import Answers
from fabula.studies.rules import FinalAnswer

KINDS = ("careful", "hasty", "random", "left")
MISSES = {"careful": 0.02, "hasty": 0.3, "left": 0.02}
NOISE = {"hasty": 0.4, "random": 1.0}
SECONDS = {"careful": 10.0, "hasty": 2.6, "random": 3.5, "left": 9.0}  # median


@dataclass(frozen=True, slots=True)
class World:
    """What simulated people see in the clips."""

    effect: float = 0.5  # δ
    rater: float = 0.05  # ρ_r
    item: float = 0.2  # ρ_q
    bias: float = 0.4  # of the raters who lean left

    def __post_init__(self) -> None:
        if self.rater + self.item > 1 or self.rater < 0 or self.item < 0 or not 0 <= self.bias <= 1:
            raise SpecError("shares of variance and bias lie between 0 and 1, and the first two add up to 1 at most")


@dataclass(frozen=True, slots=True)
class Person:
    kind: str
    lean: float  # a_r


def deal_kinds(raters: int, mix: Mapping[str, float], rng: random.Random) -> list[str]:
    """So many of each kind as the mix says, the largest remainders rounded up; in random order."""
    for kind, share in mix.items():
        if kind not in KINDS:
            raise SpecError(f"no rater is called {kind!r}; there are: {', '.join(KINDS)}")
        if not 0 <= share < 1e9:
            raise SpecError(f"{kind}={share:g}; say a share or a number")
    total = sum(mix.values())
    if not total > 0:
        raise SpecError("the mix of raters is empty; say careful=1")
    exact = {kind: raters * share / total for kind, share in mix.items()}
    counts = {kind: int(x) for kind, x in exact.items()}
    for kind in sorted(exact, key=lambda k: counts[k] - exact[k])[: raters - sum(counts.values())]:
        counts[kind] += 1
    kinds = [kind for kind, n in counts.items() for _ in range(n)]
    rng.shuffle(kinds)
    return kinds


def simulate(
    plan: Plan, design: Design, mix: Mapping[str, float], world: World, seed: int
) -> tuple[Answers, list[str]]:
    """Answers to a whole design, and of which kind each rater is."""
    rng = random.Random(f"raters {seed}")
    form = plan.make_form()
    kinds = deal_kinds(design.raters, mix, rng)
    people = [Person(kind, rng.gauss(0, world.rater**0.5)) for kind in kinds]
    leans = {q.id: rng.gauss(0, world.item**0.5) for q in design.questions}
    by_rater: dict[int, list[FinalAnswer]] = {}
    clock = 0.0
    for row, slot in enumerate(design.slots):
        person = people[slot.rater]
        answer = respond(person, slot, form, design.systems, Ahead(world, leans.get(slot.question, 0.0)), rng)
        seconds = SECONDS[person.kind] * exp(rng.gauss(0, 0.5))
        clock += seconds
        by_rater.setdefault(slot.rater, []).append(FinalAnswer(slot, answer, seconds, clock, row))
    answers = Answers(
        "simulated", plan, form, design.systems, design.items, by_rater, 0.0, True, len(design.slots), len(design.slots)
    )
    return answers, kinds


@dataclass(frozen=True, slots=True)
class Ahead:
    """What a question adds."""

    world: World
    lean: float  # b_q

    def mean(self, person: Person, steps: int = 1) -> float:
        return steps * self.world.effect + person.lean + self.lean

    def noise(self, rng: random.Random) -> float:
        return rng.gauss(0, (1 - self.world.rater - self.world.item) ** 0.5)


def respond(
    person: Person, slot: Slot, form: Form, systems: tuple[str, ...], ahead: Ahead, rng: random.Random
) -> dict[str, int]:
    """One answer."""
    fields = form.fields(len(slot.order))
    anything = {f.name: rng.choice(f.options)[0] for f in fields}
    if form.name == "rank":
        places = rng.sample(range(1, len(slot.order) + 1), len(slot.order))
        anything = dict(zip(anything, places, strict=True))
    if slot.role == "check" and person.kind != "random":
        return anything if rng.random() < MISSES[person.kind] else dict(slot.expect or {})
    if rng.random() < NOISE.get(person.kind, 0.0):
        return anything
    rank = {system: k for k, system in enumerate(systems)}
    leans_now = person.kind == "left" and rng.random() < ahead.world.bias
    answer: dict[str, int] = {}
    for measure in form.choices:
        later = max(slot.order, key=rank.__getitem__)
        p = min(1.0, max(0.0, (1 + ahead.mean(person, abs(rank[slot.order[0]] - rank[slot.order[1]]))) / 2))
        chosen = later if rng.random() < p else next(s for s in slot.order if s != later)
        answer[measure] = 1 if leans_now else slot.order.index(chosen) + 1
    for measure in form.yes_no:
        yes = min(1.0, max(0.0, (1 + ahead.mean(person)) / 2))
        answer[f"{measure}_2"] = int(rng.random() < yes and not leans_now)
    middle = (len(systems) - 1) / 2
    for measure in form.scales:
        for p, mark in enumerate(mark_all(person, slot, ahead, rank, rng), 1):
            if form.fixed and p == 1:
                continue
            answer[f"{measure}_{p}"] = min(5, max(1, round(mark + (leans_now and p == 1))))
    if form.name == "rank":
        marks = [
            ahead.world.effect * (rank[s] - middle) + ahead.noise(rng) * 0.5**0.5 + (leans_now and p == 0)
            for p, s in enumerate(slot.order)
        ]
        order = sorted(range(len(marks)), key=lambda p: -marks[p])
        answer = {f"rank_{p + 1}": order.index(p) + 1 for p in range(len(marks))}
    if form.name == "true":
        chance = 0.5 + 0.5 * (ahead.world.effect * (rank[slot.order[0]] - middle) + person.lean + ahead.lean)
        answer["true_1"] = int(rng.random() < chance)
    return answer


def mark_all(person: Person, slot: Slot, ahead: Ahead, rank: dict[str, int], rng: random.Random) -> list[float]:
    """Marks of the descriptions as they stand; two shown together are d apart."""
    if len(slot.order) == 2:
        steps = rank[slot.order[0]] - rank[slot.order[1]]
        d = ahead.mean(person, abs(steps)) + ahead.noise(rng)
        first = d / 2 if steps > 0 else -d / 2
        return [3.5 + first, 3.5 - first]
    middle = (len(rank) - 1) / 2
    shift = ahead.world.effect * (rank[slot.order[0]] - middle)
    return [3.5 + shift + person.lean + ahead.lean + ahead.noise(rng)]
