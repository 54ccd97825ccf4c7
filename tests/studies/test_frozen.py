"""Designs, simulated answers, results and their pages of small studies, as tests/studies/frozen has them.

A plan with a seed gives the same booklets for ever: raters hold links to them. A number that moves is to be looked at.
`python -m tests.studies.test_frozen` writes the files anew.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fabula.core.errors import SpecError
from fabula.report.html import escape_text
from fabula.studies import report
from fabula.studies.design import Design, Slot, draw_items, make_design, name_systems
from fabula.studies.forms import FORMS, SCALES, make_form
from fabula.studies.items import Item
from fabula.studies.plan import Analysis, Exclude, Plan, Power
from fabula.studies.power import Reach, reach
from fabula.studies.raters import KINDS, Ahead, Person, World, deal_kinds, simulate
from fabula.studies.results import Answers, Results, differ, find_results, to_dict
from fabula.studies.rules import FinalAnswer, judge, passes, sameness
from fabula.studies.server import write_check
from tests.stored import as_text, keep_known, read_stored, write_stored

FOLDER = Path(__file__).parent / "frozen"
SYSTEMS = {"rank": ("a", "b", "c"), "preference": ("a", "b", "c")}
GOLD = {
    "richer": {"static": "b", "accuracy": {"b": [4, 5]}},
    "yes-no": {"static": {"b": [1, 1]}, "accuracy": {"b": [4, 5]}},
    "preference": {"better": "a"},
    "rank": {"rank": {"a": [1, 1]}},
    "scale": {"accuracy": {"b": [3, 5]}},
    "true": {"true": {"a": [1, 1]}},
}


def make_items(form: str, count: int, gold: bool = False) -> list[Item]:
    kinds = ("static", "dynamic", "static")
    return [
        Item(
            f"{'g' * gold}{i}",
            f"v{i % 2}",
            0.5 * i,
            2.0 + i,
            {s: f"{s} {i}" for s in SYSTEMS.get(form, ("a", "b"))},
            kinds[i % 3],
            GOLD[form] if gold else None,
        )
        for i in range(count)
    ]


@cache
def make(form: str, balance: bool = True, **settings: Any) -> tuple[Plan, Design]:
    plan = Plan(
        **{"title": "A <study>", "form": form, "items": "x", "questions": 4, "checks": 2, "golds": 1, "seed": 7}
        | {"balance": balance, "analysis": Analysis(resamples=20), "exclude": Exclude(checks=0.3, hurried=0.6)}
        | settings
    )
    return plan, make_design(plan, make_items(form, 6), make_items(form, 2, gold=True))


MIX = {"careful": 4, "hasty": 1, "random": 1, "left": 2}


@cache
def results(form: str, balance: bool = True) -> Results:
    plan, design = make(form, balance)
    answers, _ = simulate(plan, design, MIX, World(0.4, 0.1, 0.2, 0.3), 5)
    return find_results(answers)


def write_answers(form: str) -> str:
    plan, design = make(form)
    answers, kinds = simulate(plan, design, MIX, World(0.4, 0.1, 0.2, 0.3), 5)
    rows = [[r, *g.answer.values(), g.seconds, g.at, g.row] for r, own in answers.by_rater.items() for g in own]
    head = [answers.id, answers.created, answers.simulated, answers.booklet, answers.rows, answers.skipped]
    return "\n".join(
        " ".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in row) for row in [head, kinds, *rows]
    )


def write_design(form: str, **settings: Any) -> str:
    _, design = make(form, **settings)
    slots = [[s.rater, s.place, s.role, s.question, s.item, "/".join(s.order), s.expect] for s in design.slots]
    questions = [[q.id, q.item, *q.systems] for q in design.questions]
    return "\n".join(" ".join(map(str, row)) for row in [design.systems, *questions, *slots])


def cut_style(page: str) -> str:
    return page.partition("</style>")[2]


TEXTS: dict[str, Callable[[], str]] = {
    **{f"design-{form}": (lambda form=form: write_design(form)) for form in FORMS},
    "design-unbalanced": lambda: write_design("richer", balance=False),
    "design-of-more-raters": lambda: write_design("rank", raters=5, seed=3),
    **{f"answers-{form}": (lambda form=form: write_answers(form)) for form in FORMS},
    **{f"results-{form}": (lambda form=form: as_text(to_dict(results(form)))) for form in FORMS},
    **{f"table-{form}": (lambda form=form: as_text([t.to_dict() for t in results(form).table[:9]])) for form in FORMS},
    **{f"plain-{form}": (lambda form=form: "\n".join(report.plain(results(form)))) for form in FORMS},
    **{f"latex-{form}": (lambda form=form: "\n".join(report.latex(results(form)))) for form in FORMS},
    **{f"page-{form}": (lambda form=form: cut_style(report.page(results(form)))) for form in FORMS},
    **{f"power-{form}": (lambda form=form: as_text(asdict(reach(*make(form))))) for form in FORMS},
    "fields": lambda: as_text(
        {
            f"{form} of {count}": [asdict(f) for f in make_form(form, scales).fields(count)]
            for form, scales in dict.fromkeys(FORMS, ()).items()
            for count in (1, 2, 3)
            if count == FORMS[form].shown or not FORMS[form].shown
        }
    ),
    "scales": lambda: as_text([asdict(f) for f in make_form("scale", tuple(SCALES)).fields(1)]),
}


@pytest.mark.parametrize("name", TEXTS)
def test_it_is_as_it_was(name):
    stored, now = read_stored(FOLDER, name), TEXTS[name]() + "\n"
    if stored.startswith("{"):
        stored, now = json.loads(stored), keep_known(json.loads(now), json.loads(stored))
    assert now == stored


def test_nothing_is_left_over():
    assert {path.stem for path in FOLDER.iterdir()} == set(TEXTS)


# designs


def test_items_are_drawn_evenly_over_kinds_and_stay_in_order():
    items = make_items("richer", 9)  # six static, three dynamic
    drawn = draw_items(items, 4, 1)
    assert [i.kind for i in drawn].count("dynamic") == 2 and drawn == sorted(drawn, key=lambda i: int(i.id))
    assert draw_items(items, 0, 1) == items == draw_items(items, 9, 1) and len(draw_items(items, 8, 1)) == 8
    assert draw_items(items, 4, 1) == drawn != draw_items(items, 4, 2)


def test_the_target_is_last_and_must_be_there():
    plan, items = make("preference")[0], make_items("preference", 2)
    assert name_systems(plan, items) == ("a", "b", "c")
    assert name_systems(replace(plan, target="a"), items) == ("b", "c", "a")
    with pytest.raises(SpecError, match="target 'x' is no system; there are: a, b, c"):
        name_systems(replace(plan, target="x"), items)
    ten = [Item("i", "v", 0, 1, {str(k): "x" for k in range(10)})]
    with pytest.raises(SpecError, match="10 systems; at most 9 can be ranked"):
        name_systems(replace(plan, form="rank"), ten)
    nine = [Item("i", "v", 0, 1, {str(k): "x" for k in range(9)})]
    assert len(name_systems(replace(plan, form="rank"), nine)) == 9
    one = [Item("i", "v", 0, 1, {"a": "x"})]
    assert name_systems(replace(plan, form="scale"), one) == ("a",)
    with pytest.raises(SpecError, match="the form preference compares systems, and there is one: a"):
        name_systems(plan, one)


# forms


@pytest.mark.parametrize(
    ("form", "answer", "told"),
    [
        ("richer", {"static": 1}, "an answer has the fields static, dynamic, accuracy_1, accuracy_2"),
        ("richer", [1], "an answer has the fields"),
        ("richer", {"static": 3, "dynamic": 0, "accuracy_1": 5, "accuracy_2": 1}, "static: no such option"),
        ("richer", {"static": 1, "dynamic": 0, "accuracy_1": 6, "accuracy_2": 1}, "accuracy_1: no such option"),
        ("richer", {"static": 1, "dynamic": 0, "accuracy_1": 1, "accuracy_2": 0}, "accuracy_2: no such option"),
        ("richer", {"static": True, "dynamic": 0, "accuracy_1": 1, "accuracy_2": 1}, "static: no such option"),
        ("rank", {"rank_1": 1, "rank_2": 1}, "each place is given once"),
        ("rank", {"rank_1": 1, "rank_2": 3}, "rank_2: no such option"),
    ],
)
def test_no_answer(form, answer, told):
    with pytest.raises(SpecError, match=told):
        make_form(form).check(answer, 2)


def test_answers():
    fine = {"static": 2, "dynamic": 0, "accuracy_1": 5, "accuracy_2": 1}
    assert make_form("richer").check(fine, 2) == fine
    assert make_form("rank").check({"rank_1": 2, "rank_2": 1}, 2) == {"rank_1": 2, "rank_2": 1}
    assert make_form("preference").check({"better": 0}, 2) == {"better": 0}
    with pytest.raises(SpecError, match="better: no such option"):
        make_form("preference", ties=False).check({"better": 0}, 2)
    assert make_form("richer", ties=False).check({**fine, "static": 0}, 2)["static"] == 0


@pytest.mark.parametrize(
    ("form", "answer", "order", "ratings"),
    [
        ("preference", {"better": 0}, ("b", "a"), [("better", "b", 1, 0.5), ("better", "a", 2, 0.5)]),
        ("preference", {"better": 2}, ("b", "a"), [("better", "b", 1, 0.0), ("better", "a", 2, 1.0)]),
        (
            "richer",
            {"static": 0, "dynamic": 1, "accuracy_1": 4, "accuracy_2": 2},
            ("a", "b"),
            [
                *[("static", "a", 1, 0.0), ("static", "b", 2, 0.0), ("dynamic", "a", 1, 1.0), ("dynamic", "b", 2, 0.0)],
                *[("accuracy", "a", 1, 4.0), ("accuracy", "b", 2, 2.0)],
            ],
        ),
        ("true", {"true_1": 1}, ("b",), [("true", "b", 1, 1.0)]),
    ],
)
def test_what_an_answer_says_of_each_system(form, answer, order, ratings):
    assert list(make_form(form).ratings(answer, order)) == ratings


def test_a_choice_without_positions_for_agreement():
    form, systems = make_form("richer"), ("a", "b", "c")
    code = lambda value, order: form.code("static", {"static": value}, order, systems)  # noqa: E731
    assert [code(1, ("c", "a")), code(2, ("c", "a")), code(0, ("c", "a")), code(0, ("c", "b"))] == [2.0, 0.0, 1.0, 1.5]
    assert form.code("accuracy_2", {"accuracy_2": 4}, ("c", "a"), systems) == 4.0


def test_measures_and_shares():
    assert {name: make_form(name).measures for name in FORMS} == {
        **{"richer": ("static", "dynamic", "accuracy"), "preference": ("better",), "rank": ("rank",)},
        **{"scale": ("accuracy",), "true": ("true",), "yes-no": ("static", "dynamic", "accuracy")},
    }
    form = make_form("richer")
    assert [form.is_share(m) for m in ("static", "dynamic", "accuracy", "true", "better")] == [
        True,
        True,
        False,
        True,
        False,
    ]
    assert make_form("scale", ("detail", "fluency")).measures == ("detail", "fluency")
    for wrong, told in {("none", ()): "no form is called 'none'", ("rank", ("detail",)): "not for rank"}.items():
        with pytest.raises(SpecError, match=told):
            make_form(*wrong)
    with pytest.raises(SpecError, match="no scale is called 'x'; there are: accuracy, detail, fluency"):
        make_form("scale", ("x",))


def test_the_words_of_a_check():
    form = make_form("richer")
    expect = {"static": 2, "dynamic": 0, "accuracy_1": 5, "accuracy_2": 1}
    first, second = write_check(form.fields(2), expect, 2)
    assert second == "Please answer as the first description says."
    assert first == (
        "This is a check that descriptions are read. Whatever the clip shows, answer "
        "“Which tells more of what stays the same?”: Description 2; "
        "“Which tells more of what happens?”: Neither tells more; "
        "“Description 1: how right is it?”: 5; “Description 2: how right is it?”: 1."
    )
    assert len(write_check(make_form("true").fields(1), {"true_1": 0}, 1)) == 1


def test_answers_that_say_nothing_of_their_store():
    answers, _ = simulate(*make("scale"), MIX, World(), 1)
    bare = Answers(answers.id, answers.plan, answers.form, answers.systems, answers.items, answers.by_rater)
    found = (bare.created, bare.simulated, bare.booklet, bare.rows, bare.skipped)
    assert found == (0.0, False, 0, 0, 0)


# rules


def given(
    answer: dict[str, int], role: str = "question", seconds: float = 9.0, expect: Any = None, order=("a", "b")
) -> FinalAnswer:
    return FinalAnswer(Slot(0, 0, role, "q", 0, order, expect), answer, seconds, 0.0, 0)


@pytest.mark.parametrize(
    ("expect", "answer", "order", "right"),
    [
        ({"static": "a"}, {"static": 1}, ("a", "b"), True),
        ({"static": "a"}, {"static": 1}, ("b", "a"), False),
        ({"static": "a"}, {"static": 2}, ("b", "a"), True),
        ({"static": "neither"}, {"static": 0}, ("a", "b"), True),
        ({"static": "neither"}, {"static": 1}, ("a", "b"), False),
        ({"static": "c"}, {"static": 1}, ("a", "b"), True),  # not shown
        ({"accuracy": {"b": [4, 5]}}, {"accuracy_1": 1, "accuracy_2": 4}, ("a", "b"), True),
        ({"accuracy": {"b": [4, 5]}}, {"accuracy_1": 1, "accuracy_2": 5}, ("a", "b"), True),
        ({"accuracy": {"b": [3, 4]}}, {"accuracy_1": 1, "accuracy_2": 5}, ("a", "b"), False),
        ({"accuracy": {"b": [3, 4]}}, {"accuracy_1": 2, "accuracy_2": 4}, ("b", "a"), False),
        ({"accuracy": {"c": [3, 4]}}, {"accuracy_1": 2, "accuracy_2": 4}, ("b", "a"), True),
        ({"static": "a", "dynamic": "b"}, {"static": 1, "dynamic": 1}, ("a", "b"), False),
        (None, {}, ("a", "b"), True),
    ],
)
def test_gold_questions(expect, answer, order, right):
    assert passes(make_form("richer"), Slot(0, 0, "gold", "g", 0, order, expect), answer) is right


def test_checks_are_passed_word_for_word():
    form, slot = make_form("richer"), Slot(0, 0, "check", "c", 0, ("a", "b"), {"static": 1, "dynamic": 2})
    assert passes(form, slot, {"static": 1, "dynamic": 2}) and not passes(form, slot, {"static": 1, "dynamic": 1})


def test_sameness_over_ten_answers():
    better, richer, rank = make_form("preference"), make_form("richer"), make_form("rank")
    sides = [given({"better": 1})] * 7 + [given({"better": 2})] * 2 + [given({"better": 0})]
    assert sameness(better, sides) == 0.7 and sameness(better, sides[:9]) == 0.0
    two = [given({"static": 1, "dynamic": 2})] * 9 + [given({"static": 2, "dynamic": 1})] * 3
    assert sameness(richer, two) == 0.75
    mixed = [given({"static": 1, "dynamic": k % 2 + 1}) for k in range(10)]
    assert sameness(richer, mixed) == 0.5  # of several fields the smallest
    orders = [given({"rank_1": 1, "rank_2": 2})] * 8 + [given({"rank_2": 1, "rank_1": 2})] * 4
    assert sameness(rank, orders) == pytest.approx(8 / 12)
    assert sameness(make_form("true"), [given({"true_1": 1})] * 12) == 0.0


def test_who_is_left_out_and_why():
    plan = Plan(
        title="t", form="preference", items="x", exclude=Exclude(checks=0.5, hurried=0.25, same=0.75), shortest=2.0
    )
    form = plan.make_form()
    fail = given({"better": 2}, "check", expect={"better": 1})
    right = given({"better": 1}, "check", expect={"better": 1})
    fine = [given({"better": k % 2 + 1}, seconds=2.0) for k in range(12)]
    one = judge(plan, form, 4, [*fine, fail, right])
    assert (one.rater, one.answers, one.checks, one.passed, one.hurried, one.same, one.why) == (
        4,
        12,
        2,
        1,
        0.0,
        0.5,
        (),
    )
    assert not one.excluded
    failed = judge(plan, form, 0, [*fine, fail, fail, right])
    assert failed.why == ("passed 1 of 3 checks, fewer than 50%",) and failed.excluded
    quick = [given({"better": 1}, seconds=1.99)] * 4 + [given({"better": 2}, seconds=5.0)] * 8
    assert judge(plan, form, 0, quick).why == ("33% of answers within 2 s, more than 25%",)
    assert judge(plan, form, 0, quick[1:] + quick[-1:]).why == ()  # a quarter
    left = [given({"better": 1})] * 10 + [given({"better": 2})] * 3
    assert judge(plan, form, 0, left).why == ("77% of choices on one side, more than 75%",)
    assert judge(plan, form, 0, left[1:]).why == () and judge(replace(plan, balance=False), form, 0, left).why == ()
    assert judge(plan, form, 0, []).why == ()


# simulated raters


def test_kinds_of_raters_are_dealt_as_the_mix_says():
    rng = random.Random(1)
    assert sorted(deal_kinds(10, {"careful": 8, "random": 1, "left": 1}, rng)) == ["careful"] * 8 + ["left", "random"]
    assert sorted(deal_kinds(3, {"careful": 1, "hasty": 1}, rng)) == ["careful", "careful", "hasty"]
    assert KINDS == ("careful", "hasty", "random", "left")
    for mix, told in [
        ({"lazy": 1}, "no rater is called 'lazy'"),
        ({"careful": -1}, "careful=-1; say a share"),
        ({"careful": 1e9}, "say a share or a number"),
        ({"careful": 0}, "the mix of raters is empty"),
        ({}, "the mix of raters is empty"),
    ]:
        with pytest.raises(SpecError, match=told):
            deal_kinds(3, mix, rng)


@pytest.mark.parametrize(
    "shares", [{"rater": 0.6, "item": 0.5}, {"rater": -0.1}, {"item": -0.1}, {"bias": 1.1}, {"bias": -0.1}]
)
def test_worlds_that_cannot_be(shares):
    with pytest.raises(SpecError, match="shares of variance and bias lie between 0 and 1"):
        World(**shares)


def test_worlds_at_the_ends():
    assert World(rater=0.5, item=0.5, bias=1.0).bias == 1 and World(rater=0, item=0, bias=0).item == 0
    assert asdict(World()) == {"effect": 0.5, "rater": 0.05, "item": 0.2, "bias": 0.4}
    ahead = Ahead(World(0.5), 0.25)
    assert ahead.mean(Person("careful", 0.125)) == 0.875 and ahead.mean(Person("careful", 0.125), 2) == 1.375
    assert Ahead(World(0.5, 0.5, 0.5), 0.0).noise(random.Random(1)) == 0.0


# power


def test_the_smallest_effect_is_found_four_times_in_five():
    found = Reach("better", 10, 20, 60, True, 1.0, 0.125, 30.0, 0.05)
    assert found.power(found.smallest) == pytest.approx(0.8, abs=1e-9)
    assert found.smallest == pytest.approx(0.36192, abs=1e-5)
    assert found.power(-0.3) == found.power(0.3) < 0.8 < found.power(0.4)
    assert str(replace(found, nu=0.9).smallest) == "nan" and replace(found, nu=1.0).smallest > 1


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"rater": 1.1}, "power.rater is 1.1; it is a share, from 0 to 1"),
        ({"item": -0.1}, "power.item is -0.1"),
        ({"rater": 0.6, "item": 0.5}, "together they are at most 1"),
    ],
)
def test_shares_of_a_variance(settings, told):
    with pytest.raises(SpecError, match=told):
        Power(**settings)


def test_defaults_of_a_plan():
    plan = Plan(title="t", items="x")
    assert asdict(plan) == {
        **{"title": "t", "form": "richer", "clips": ".", "items": "x", "benchmark": "", "systems": {}, "target": ""},
        **{
            "sample": 0,
            "questions": 30,
            "raters_per_question": 3,
            "raters": 0,
            "balance": True,
            "checks": 4,
            "gold": "",
        },
        **{
            "golds": 2,
            "shortest": 2.0,
            "ties": True,
            "scales": (),
            "consent": plan.consent,
            "contact": "",
            "intro": "",
            "rater_id": "",
        },
        **{"return_code": "", "return_url": "", "seed": 0},
        "exclude": {"checks": 0.75, "hurried": 0.2, "same": 0.95},
        "analysis": {"level": 0.95, "alpha": 0.05, "resamples": 1000, "primary": ""},
        "power": {"rater": 0.05, "item": 0.2},
    }
    assert Power(rater=0.5, item=0.5) and Power(rater=0, item=1) and plan.primary == "static"
    assert replace(plan, analysis=Analysis(primary="accuracy")).primary == "accuracy"


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({}, "title is missing; it must be given"),
        ({"title": 3}, "title is 3; it should be text"),
        ({"title": "t", "titel": 1}, "no setting is called 'titel'; did you mean"),
        ({"title": "t", "exclude": {"check": 1}}, "no setting is called 'exclude.check'"),
        ({"title": "t", "exclude": 3}, r"exclude is 3; it is a table: \[exclude\]"),
        ({"title": "t", "questions": 1.5}, "questions is 1.5; it should be a whole number"),
        ({"title": "t", "questions": True}, "questions is True; it should be a whole number"),
        ({"title": "t", "balance": 1}, "balance is 1; it should be true or false"),
        ({"title": "t", "shortest": "2"}, "shortest is '2'; it should be a number"),
        ({"title": "t", "shortest": 1e12}, "a plain number is needed"),
        ({"title": "t", "shortest": float("nan")}, "a plain number is needed"),
        ({"title": "t", "scales": ["a", 1]}, "it should be a list of text"),
        ({"title": "t", "systems": {"a": 1}}, "systems.a is 1; a system is a name and its file"),
        ({"title": "t", "systems": {" ": "x"}}, "a system is a name and its file"),
        ({"title": "t", "items": "x", "exclude": {"same": 1.5}}, "exclude.same is 1.5; it is a share, from 0 to 1"),
        ({"title": "t", "items": "x", "analysis": {"level": 1}}, "analysis.level is 1; it lies between 0 and 1"),
        ({"title": "t", "items": "x", "analysis": {"alpha": 0}}, "analysis.alpha is 0; it lies between 0 and 1"),
        ({"title": "t", "items": "x", "analysis": {"resamples": 0}}, "analysis.resamples is 0; say 1 to 100,000"),
        ({"title": "t", "items": "x", "analysis": {"resamples": 100_001}}, "say 1 to 100,000"),
        (
            {"title": "t", "items": "x", "analysis": {"primary": "x"}},
            "the form richer measures static, dynamic, accuracy",
        ),
        ({"title": "t", "items": "x", "seed": -1}, "seed and sample are whole numbers from 0 on"),
        ({"title": "t", "items": "x", "sample": -1}, "seed and sample are whole numbers from 0 on"),
    ],
)
def test_plans_that_are_none(document, told):
    with pytest.raises(SpecError, match=told):
        Plan.of(document)


def test_a_plan_is_written_and_read_again():
    plan = Plan.of({"title": "t", "systems": {"a": "x"}, "form": "scale", "scales": ["detail"], "shortest": 3})
    assert plan.scales == ("detail",) and plan.shortest == 3.0 and type(plan.shortest) is float
    assert Plan.of(plan.to_dict()) == plan
    ends = {"exclude": {"checks": 0, "hurried": 1, "same": 0.5}, "analysis": {"resamples": 100_000}}
    assert Plan.of({"title": "t", "items": "x", **ends}).exclude.hurried == 1


# differences between systems that were not judged together


def test_a_difference_between_means_of_other_answers():
    row = results("scale").table[0]
    a = [replace(row, rater=r, item=str(r), question=f"a{r}", value=v) for r, v in enumerate((1.0, 3.0))]
    b = [replace(row, rater=r + 5, item=str(r + 5), question=f"b{r}", value=v) for r, v in enumerate((4.0, 5.0, 6.0))]
    assert differ(a, b, 0.95).value == pytest.approx(3.0) and differ(a, [], 0.95) is None
    both = [replace(t, rater=k, item=str(k)) for k, t in enumerate(b[:2])]
    assert differ(a, both, 0.95).value == pytest.approx(2.5) and differ(a, both, 0.95).answers == 2
    many = [*b, replace(b[0], rater=0, item="0", value=9.0)]  # one of the two answers about a has its like
    assert differ(a, many, 0.95).answers == 1 and differ(a, many, 0.95).value == pytest.approx(8.0)
    more = [*a, replace(a[0], rater=2, item="2", question="a2")]  # one of three is too few
    assert differ(more, many, 0.95).answers == 7


# words


@pytest.mark.parametrize(
    ("value", "share", "sign", "shown"),
    [
        (0.1234, True, False, "12.3"),
        (0.1234, False, False, "0.12"),
        (0.5, True, True, "+50.0"),
        (-0.001, False, True, "+0.00"),
        (None, True, False, "–"),
        (float("nan"), False, False, "–"),
    ],
)
def test_numbers(value, share, sign, shown):
    assert report.number(value, share, sign) == shown


def test_times():
    assert report.clock(1_700_000_000.0) == "2023-11-14 22:13:20 UTC" and report.clock(1e6) == "–"
    assert escape_text("<") == "&lt;"


def test_lines_of_power_and_of_simulations():
    found = {
        "measure": "static",
        "raters": 3,
        "items": 4,
        "answers of a comparison": 5,
        "smallest difference": 0.25,
        "alpha": 0.05,
    }
    assert list(report.power_lines(found, 2)) == [
        *("measure\tstatic", "raters\t3", "items\t4", "answers of a comparison\t5"),
        "smallest difference\t0.250\tfound four times in five at α = 0.05",
        "as a share\t62.5 % of the choices instead of 50 %",
    ]
    more = found | {"measure": "rank", "smallest difference": None, "power": 0.5, "effect": 0.75}
    assert list(report.power_lines(more, 3))[4:] == [
        "smallest difference\tnone: a single rater, or a single item, tells of nobody else",
        "power of 0.75\t0.500",
        "note\tof one pair of systems; Holm's correction over all pairs costs some of it",
    ]
    simulated = {"studies": 9, "raters": 3, "without a rater left": 0, "value": None, "first description ahead": None}
    simulated |= {
        "found": 0.5,
        "power": None,
        "left out": {"left": {"share": 0.25, "raters": 4}},
        "measure": "m",
        "system": "s",
    }
    assert list(report.simulation_lines(simulated)) == [
        *("SIMULATED\t9 studies of 3 raters", "difference found\t0.500", "", "rater\tleft out\tof", "left\t0.250\t4")
    ]
    simulated |= {"without a rater left": 2, "value": 0.5, "first description ahead": 0.75, "power": 0.125}
    assert list(report.simulation_lines(simulated))[1:5] == [
        *(
            "studies in which nobody was left\t2",
            "m of s\t0.500",
            "first description ahead\t0.750",
            "difference found\t0.500",
        )
    ]


if __name__ == "__main__":
    write_stored(FOLDER, TEXTS)
