"""Who is asked what, and in which order: balanced over questions, systems and positions, drawn with the plan's seed.

questions   an item with the systems shown together: every pair of them, all of them, or one at a time
booklets    one a rater: each question goes to r raters, no rater sees one twice; each booklet takes the questions that
            lack most raters (so a design that exists is found: Gale 1957, Ryser 1957), among equals the items and
            systems that the rater has seen least
positions   of two: raters and questions are the two sides of a graph whose edges are answers. Walks that use every edge
            once, back and forth, leave each rater and each question with as many edges forth as back, one at most over:
            which description is 1 is balanced for both at once (de Werra 1971)
            of k: each rater's booklet holds every rotation of one order equally often, one at most over; every other
            rater has that order backwards
checks      spread over the booklet, never first
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fabula.core.errors import SpecError
from fabula.documents.fields import JsonDict
from fabula.studies.forms import Form
from fabula.studies.items import Item
from fabula.studies.plan import Plan


@dataclass(frozen=True, slots=True)
class Question:
    """An item with the systems whose descriptions are shown together."""

    id: str
    item: int
    systems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in a rater's booklet. `order`: the systems as they stand, first to last."""

    rater: int
    place: int
    role: str  # question, check or gold
    question: str
    item: int
    order: tuple[str, ...]
    expect: JsonDict | None = None  # field → value of a check; measure → … of a gold item


@dataclass(frozen=True, slots=True)
class Design:
    systems: tuple[str, ...]
    items: tuple[Item, ...]  # those drawn, then the gold ones
    questions: tuple[Question, ...]
    slots: tuple[Slot, ...]

    @property
    def raters(self) -> int:
        return 1 + max(slot.rater for slot in self.slots)


def make_design(plan: Plan, items: Sequence[Item], gold: Sequence[Item] = ()) -> Design:
    form = plan.make_form()
    systems = name_systems(plan, items)
    drawn = draw_items(items, plan.sample, plan.seed)
    questions = list_questions(form, drawn, systems)
    raters = count_raters(plan, len(questions))
    booklets = fill_booklets(questions, raters, plan.raters_per_question, plan.seed)
    orders = draw_orders(booklets, questions, plan)
    rng = random.Random(f"checks {plan.seed}")
    slots = [
        slot
        for rater, booklet in enumerate(booklets)
        for slot in lay_out(rater, booklet, orders, Parts(plan, form, questions, [*drawn, *gold], len(drawn)), rng)
    ]
    return Design(systems, (*drawn, *gold), tuple(questions), tuple(slots))


def name_systems(plan: Plan, items: Sequence[Item]) -> tuple[str, ...]:
    """The systems in the plan's order, the target last; every item must have all of them."""
    systems = tuple(plan.systems) or tuple(items[0].descriptions)
    for item in items:
        if set(item.descriptions) != set(systems):
            present, wanted = ", ".join(item.descriptions), ", ".join(systems)
            raise SpecError(f"item {item.id} has descriptions of {present}; all items need those of {wanted}")
    if plan.target:
        if plan.target not in systems:
            raise SpecError(f"target {plan.target!r} is no system; there are: {', '.join(systems)}")
        systems = (*(s for s in systems if s != plan.target), plan.target)
    form = plan.make_form()
    if form.fixed and len(systems) != 2:
        raise SpecError(f"the form {plan.form} compares one system with another, and there are {len(systems)}")
    if form.shown != 1 and len(systems) < 2:
        raise SpecError(f'the form {plan.form} compares systems, and there is one: {systems[0]}; try form = "scale"')
    if form.name == "rank" and len(systems) > 9:
        raise SpecError(f"{len(systems)} systems; at most 9 can be ranked")
    return systems


def draw_items(items: Sequence[Item], sample: int, seed: int) -> list[Item]:
    """So many, equally from each kind as far as there are, all where there are fewer; in the order they had."""
    if not sample or sample >= len(items):
        return list(items)
    rng = random.Random(f"sample {seed}")
    kinds: dict[str, list[int]] = {}
    for k, item in enumerate(items):
        kinds.setdefault(item.kind, []).append(k)
    for places in kinds.values():
        rng.shuffle(places)
    taken: list[int] = []
    while len(taken) < sample:
        for places in kinds.values():
            if places and len(taken) < sample:
                taken.append(places.pop())
    return [items[k] for k in sorted(taken)]


def list_questions(form: Form, items: Sequence[Item], systems: tuple[str, ...]) -> list[Question]:
    shown: list[tuple[str, ...]] = [systems] if not form.shown else list(combinations(systems, form.shown))
    return [
        Question(item.id if len(shown) == 1 else f"{item.id} · {' / '.join(order)}", k, order)
        for k, item in enumerate(items)
        for order in shown
    ]


def count_raters(plan: Plan, questions: int) -> int:
    answers = questions * plan.raters_per_question
    needed = max(plan.raters_per_question, -(-answers // plan.questions))
    if not plan.raters:
        return needed
    if plan.raters < needed:
        have = f"{plan.raters} raters with {min(plan.questions, questions)} questions each"
        want = f"{questions} questions × {plan.raters_per_question} raters need {needed}"
        raise SpecError(f"too few raters: {have}; {want}: say raters = {needed}, or a smaller sample")
    if plan.raters > answers:
        have = f"{questions} questions × {plan.raters_per_question} raters are {answers} answers"
        raise SpecError(f"too many raters: {plan.raters}, and {have}; say raters = {answers} or fewer")
    return plan.raters


def fill_booklets(questions: Sequence[Question], raters: int, each: int, seed: int) -> list[list[int]]:
    """Questions by rater. Sizes differ by one at most."""
    rng = np.random.default_rng([seed, 1])
    Q = len(questions)
    item_of = np.array([q.item for q in questions])
    names = {s: k for k, s in enumerate(dict.fromkeys(s for q in questions for s in q.systems))}
    shows = np.zeros((Q, len(names)))
    for k, q in enumerate(questions):
        shows[k, [names[s] for s in q.systems]] = 1
    lacking = np.full(Q, each)
    booklets: list[list[int]] = []
    for rater in range(raters):
        size = (Q * each * (rater + 1)) // raters - (Q * each * rater) // raters
        ties = rng.permutation(Q)  # who goes first among equals
        open_ = np.ones(Q, dtype=bool)
        items, systems = np.zeros(item_of.max() + 1), np.zeros(len(names))
        booklet = []
        for _ in range(size):
            worst = shows @ systems / shows.sum(axis=1)
            order = np.lexsort((ties, worst, items[item_of], -lacking, ~open_))
            k = int(order[0])
            booklet.append(k)
            open_[k] = False
            lacking[k] -= 1
            items[item_of[k]] += 1
            systems += shows[k]
        order = rng.permutation(size)
        booklets.append([booklet[i] for i in order])
    assert not lacking.any()
    return booklets


def draw_orders(
    booklets: Sequence[Sequence[int]], questions: Sequence[Question], plan: Plan
) -> dict[tuple[int, int], tuple[str, ...]]:
    """(rater, question) → the systems as they stand."""
    rng = random.Random(f"orders {plan.seed}")
    edges = [(rater, k) for rater, booklet in enumerate(booklets) for k in booklet]
    if not plan.balance or plan.make_form().fixed or len(questions[0].systems) == 1:
        return {(rater, k): questions[k].systems for rater, k in edges}
    if len(questions[0].systems) == 2:
        pairs: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        for edge in edges:
            pairs.setdefault(questions[edge[1]].systems, []).append(edge)
        forth = {edge: side for edges in pairs.values() for edge, side in split_evenly(edges, rng).items()}
        return {edge: questions[edge[1]].systems[:: 1 if forth[edge] else -1] for edge in edges}
    found: dict[tuple[int, int], tuple[str, ...]] = {}
    base = rng.sample(questions[0].systems, len(questions[0].systems))
    for rater, booklet in enumerate(booklets):
        row = base[:: 1 if rater % 2 else -1]
        turns = [(i + rater) % len(row) for i in range(len(booklet))]
        rng.shuffle(turns)
        found |= {(rater, k): tuple(row[t:] + row[:t]) for k, t in zip(booklet, turns, strict=True)}
    return found


def split_evenly(edges: Sequence[tuple[int, int]], rng: random.Random) -> dict[tuple[int, int], bool]:
    """True or False for each edge, as many of either at every end as can be (one more at most).

    Ends of odd degree are first joined to one more end on the other side, so that all degrees are even; then every
    walk that cannot go on has come back to where it began, and each end was entered as often as it was left.
    """
    touching: dict[tuple[str, int], list[int]] = {}
    ends: list[tuple[tuple[str, int], tuple[str, int]]] = [(("rater", a), ("question", b)) for a, b in edges]
    degree: dict[tuple[str, int], int] = {}
    for pair in ends:
        for end in pair:
            degree[end] = degree.get(end, 0) + 1
    for end in [end for end, d in degree.items() if d % 2]:
        other = ("question", -1) if end[0] == "rater" else ("rater", -1)
        ends.append((end, other) if end[0] == "rater" else (other, end))
    if sum(1 for a, b in ends if b == ("question", -1)) % 2:  # then of the other kind too: join the two
        ends.append((("rater", -1), ("question", -1)))
    for number, pair in enumerate(ends):
        for end in pair:
            touching.setdefault(end, []).append(number)
    for numbers in touching.values():
        rng.shuffle(numbers)
    forth: dict[int, bool] = {}
    for begin in rng.sample(list(touching), len(touching)):
        here = begin
        while True:
            while touching[here] and touching[here][-1] in forth:
                touching[here].pop()
            if not touching[here]:
                break
            number = touching[here].pop()
            a, b = ends[number]
            forth[number] = here == a
            here = b if here == a else a
    return {edge: forth[number] for number, edge in enumerate(edges)}


@dataclass(frozen=True, slots=True)
class Parts:
    """What a booklet is made of; gold items begin at `golden`."""

    plan: Plan
    form: Form
    questions: Sequence[Question]
    items: Sequence[Item]
    golden: int


def lay_out(
    rater: int,
    booklet: Sequence[int],
    orders: dict[tuple[int, int], tuple[str, ...]],
    parts: Parts,
    rng: random.Random,
) -> Iterator[Slot]:
    """The booklet with its checks and gold questions, place by place."""
    plan, questions = parts.plan, parts.questions
    rows: list[tuple[str, str, int, tuple[str, ...], JsonDict | None]] = [
        ("question", questions[k].id, questions[k].item, orders[rater, k], None) for k in booklet
    ]
    width = len(rows[0][3])
    systems = questions[0].systems
    extra: list[tuple[str, str, int, tuple[str, ...], JsonDict | None]] = []
    for c in range(plan.checks):
        item = min((parts.items[questions[k].item].length, questions[k].item) for k in rng.sample(list(booklet), 1))[1]
        fields = parts.form.fields(width)
        expect = {f.name: rng.choice(f.options)[0] for f in fields}
        if parts.form.name == "rank":
            expect = dict(zip([f.name for f in fields], rng.sample(range(1, width + 1), width), strict=True))
        extra.append(("check", f"check {c + 1}", item, systems[:width], expect))
    golds = list(range(parts.golden, len(parts.items)))
    for k in rng.sample(golds, min(plan.golds, len(golds))):
        order = list(systems[:width]) if width > 1 else [rng.choice(name_all(questions))]
        if plan.balance and not parts.form.fixed:
            rng.shuffle(order)
        extra.append(("gold", f"gold {parts.items[k].id}", k, tuple(order), parts.items[k].expect))
    rng.shuffle(extra)
    places = sorted(rng.sample(range(1, len(rows) + 1), min(len(extra), len(rows))))
    for at, row in reversed(list(zip(places, extra, strict=False))):
        rows.insert(at, row)
    rows += extra[len(places) :]
    for place, (role, question, item, order_, expect_) in enumerate(rows):
        yield Slot(rater, place, role, question, item, order_, expect_)


def name_all(questions: Sequence[Question]) -> list[str]:
    return list(dict.fromkeys(s for q in questions for s in q.systems))
