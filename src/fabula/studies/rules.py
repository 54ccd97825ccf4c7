"""Which raters are excluded, and why: the plan's rule, applied to how each rater answers.

    checks    the share of attention checks and gold questions passed
    hurried   the share of answers given sooner after the clip's end than the plan's `shortest`
    same      the share of choices that fall on one side, or of rankings that are one and the same, over 10 or more

Sides are counter-balanced, so that what always falls on one of them is no opinion of the systems. Marks have no such
rule, nor have designs without balance: there one answer throughout may be what somebody thinks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabula.documents.fields import JsonDict
from fabula.studies.design import Slot
from fabula.studies.forms import Form
from fabula.studies.plan import Plan

FEWEST = 10  # choices below which sameness says nothing


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """The final answer at a place: the last one, with the `seconds` of the first."""

    slot: Slot
    answer: Mapping[str, int]
    seconds: float
    at: float
    row: int


@dataclass(frozen=True, slots=True)
class Conduct:
    """How a rater answered."""

    rater: int
    answers: int  # to questions
    checks: int
    passed: int
    hurried: float
    same: float
    why: tuple[str, ...]  # she is left out; empty: she is not

    @property
    def excluded(self) -> bool:
        return bool(self.why)


def passes(form: Form, slot: Slot, answer: Mapping[str, int]) -> bool:
    """Whether a check or a gold question was answered as expected."""
    expect: JsonDict = slot.expect or {}
    if slot.role == "check":
        return all(answer.get(name) == value for name, value in expect.items())
    for measure, wanted in expect.items():
        if measure in form.choices:
            right = 0 if wanted == "neither" else slot.order.index(wanted) + 1 if wanted in slot.order else None
            if right is not None and answer[measure] != right:
                return False
            continue
        for system, (low, high) in wanted.items():
            name = f"{measure}_{slot.order.index(system) + 1}" if system in slot.order else ""
            if name in answer and not low <= answer[name] <= high:
                return False
    return True


def sameness(form: Form, answers: Sequence[FinalAnswer]) -> float:
    """The largest share that one side, or one ranking, has; of several fields the smallest: one may be an accident."""
    if len(answers) < FEWEST:
        return 0.0
    if form.name == "rank":
        orders = Counter(tuple(sorted(g.answer.items())) for g in answers)
        return max(orders.values()) / len(answers)
    sides = [Counter(g.answer[measure] for g in answers) for measure in form.choices]
    return min((max(side[1], side[2]) / len(answers) for side in sides), default=0.0)


def judge(plan: Plan, form: Form, rater: int, answers: Sequence[FinalAnswer]) -> Conduct:
    """One rater under the plan's rule."""
    questions = [g for g in answers if g.slot.role == "question"]
    tests = [g for g in answers if g.slot.role != "question"]
    passed = sum(passes(form, g.slot, g.answer) for g in tests)
    hurried = sum(g.seconds < plan.shortest for g in answers) / max(1, len(answers))
    same = sameness(form, questions) if plan.balance and not form.fixed else 0.0
    why = []
    if tests and passed / len(tests) < plan.exclude.checks:
        why.append(f"passed {passed} of {len(tests)} checks, fewer than {plan.exclude.checks:.0%}")
    if answers and hurried > plan.exclude.hurried:
        why.append(f"{hurried:.0%} of answers within {plan.shortest:g} s, more than {plan.exclude.hurried:.0%}")
    if same > plan.exclude.same:
        why.append(f"{same:.0%} of choices on one side, more than {plan.exclude.same:.0%}")
    return Conduct(rater, len(questions), len(tests), passed, hurried, same, tuple(why))
