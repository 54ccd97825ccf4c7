"""Who is asked what: every question as often as planned, positions balanced for raters and questions at once."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.core.errors import SpecError
from fabula.studies.design import make_design, split_evenly
from fabula.studies.forms import FORMS
from fabula.studies.items import Item
from fabula.studies.plan import Plan


def items(count, systems, kinds=1):
    return [Item(str(i), "v", 0, 2, {s: f"{s} {i}" for s in systems}, f"k{i % kinds}") for i in range(count)]


def asked(design):
    return [s for s in design.slots if s.role == "question"]


@settings(max_examples=25)
@given(
    form=st.sampled_from(sorted(FORMS)),
    systems=st.integers(2, 4),
    count=st.integers(3, 25),
    each=st.integers(1, 4),
    size=st.integers(3, 20),
    seed=st.integers(0, 99),
)
def test_every_question_is_asked_as_planned(form, systems, count, each, size, seed):
    names = [f"s{k}" for k in range(2 if form == "yes-no" else systems)]
    plan = Plan(title="t", form=form, items="x", questions=size, raters_per_question=each, seed=seed, checks=2)
    design = make_design(plan, items(count, names))
    slots = asked(design)
    assert set(Counter(s.question for s in slots).values()) == {each}
    booklets: dict[int, list] = {}
    for s in slots:
        booklets.setdefault(s.rater, []).append(s)
    sizes = [len(b) for b in booklets.values()]
    assert max(sizes) - min(sizes) <= 1 and max(sizes) <= max(size, len(design.questions))
    for booklet in booklets.values():
        assert len({s.question for s in booklet}) == len(booklet)  # none twice
        if form == "rank":
            first = Counter(s.order[0] for s in booklet)
            assert max(first[n] for n in names) - min(first[n] for n in names) <= 1
    if form in ("richer", "preference"):
        for pair in {q.systems for q in design.questions}:
            own = {q.id for q in design.questions if q.systems == pair}
            some = [s for s in slots if s.question in own]
            for key in (lambda s: s.rater, lambda s: s.question):
                sides = Counter((key(s), s.order[0]) for s in some)
                for k in {key(s) for s in some}:
                    assert abs(sides[k, pair[0]] - sides[k, pair[1]]) <= 1
            total = Counter(s.order[0] for s in some)
            assert abs(total[pair[0]] - total[pair[1]]) <= max(1, len(booklets))
    for rater in booklets:
        whole = [s for s in design.slots if s.rater == rater]
        assert [s.place for s in whole] == list(range(len(whole)))
        assert sum(s.role == "check" for s in whole) == 2 and whole[0].role == "question"
    assert make_design(plan, items(count, names)) == design  # the seed decides


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 9)), min_size=1), st.integers(0, 9))
def test_edges_are_split_evenly_at_every_end(edges, seed):
    import random

    found = split_evenly(sorted(edges), random.Random(seed))
    assert set(found) == edges
    for side in (0, 1):
        for end in {e[side] for e in edges}:
            own = [found[e] for e in edges if e[side] == end]
            assert abs(2 * sum(own) - len(own)) <= 1


def test_the_default_is_thirty_and_three():
    design = make_design(Plan(title="t", items="x"), items(100, ("coarse", "fine")))
    assert design.raters == 10 and len(asked(design)) == 300
    assert Counter(s.order[0] for s in asked(design)) == {"coarse": 150, "fine": 150}
    three = make_design(Plan(title="t", items="x"), items(30, ("coarse", "fine")))
    assert three.raters == 3 and {Counter(s.rater for s in asked(three))[r] for r in range(3)} == {30}


def test_without_balance_systems_stand_as_named():
    plan = Plan(title="t", items="x", balance=False, target="b")
    design = make_design(plan, items(30, ("b", "a")))
    assert {s.order for s in asked(design)} == {("a", "b")}  # the target last, as in the seed's form


def test_a_sample_is_even_over_kinds():
    design = make_design(Plan(title="t", items="x", sample=20), items(100, ("a", "b"), kinds=2))
    assert Counter(i.kind for i in design.items) == {"k0": 10, "k1": 10}


@pytest.mark.parametrize(
    ("settings", "systems", "said"),
    [
        ({"raters": 2}, 2, "too few raters: 2 raters with 30 questions each; 40 questions × 3 raters need 4"),
        ({"raters": 121}, 2, "too many raters: 121, and 40 questions × 3 raters are 120 answers; say raters = 120"),
        ({"target": "z"}, 2, "target 'z' is no system"),
        ({"form": "preference"}, 1, "compares systems, and there is one"),
        ({"form": "rank"}, 10, "at most 9 can be ranked"),
    ],
)
def test_designs_that_cannot_be(settings, systems, said):
    with pytest.raises(SpecError) as error:
        make_design(Plan(title="t", items="x", **settings), items(40, [f"s{k}" for k in range(systems)]))
    assert said in str(error.value)


def test_items_lacking_a_system():
    some = [*items(3, ("a", "b")), Item("odd", "v", 0, 2, {"a": "x"})]
    with pytest.raises(SpecError, match="item odd has descriptions of a; all items need those of a, b"):
        make_design(Plan(title="t", items="x"), some)
