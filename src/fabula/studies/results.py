"""Results: R_s, R_d and S as in VERIFIED's study, agreement, tests between systems, excluded raters.

    R_s, R_d   the share of answers that name the target's description the one with more static, or dynamic, detail
    S          the mean accuracy of a system's descriptions, 1–5

Every mean stands on answers that share raters and items, and its interval knows it (stats/twoway.py). Systems are
compared by the difference within each answer where both were shown together, else within rater and item as far as the
same rater judged both, else between their means; p-values are corrected over pairs of systems (Holm).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from statistics import median

from fabula.core.errors import InputError
from fabula.documents.fields import JsonDict
from fabula.stats.agreement import alpha, alpha_interval
from fabula.stats.holm import holm
from fabula.stats.twoway import Estimate, mean_of
from fabula.studies.design import Slot
from fabula.studies.forms import Form
from fabula.studies.items import Item
from fabula.studies.plan import Plan
from fabula.studies.rules import Conduct, FinalAnswer, judge
from fabula.studies.store import Row, Store

NAMES = {"static": "R_s", "dynamic": "R_d", "accuracy": "S"}  # as VERIFIED's Table 3 names them


@dataclass(frozen=True, slots=True)
class Line:
    """One number: a measure of a system over items of a kind ("": all)."""

    measure: str
    system: str
    kind: str
    share: bool
    estimate: Estimate

    @property
    def letter(self) -> str:
        return NAMES.get(self.measure, self.measure)


@dataclass(frozen=True, slots=True)
class Duel:
    """System b against system a under a measure."""

    measure: str
    a: str
    b: str
    estimate: Estimate  # of b − a
    p: float | None
    p_holm: float | None


@dataclass(frozen=True, slots=True)
class Agreement:
    measure: str
    raters: int  # of whom two or more met over an item
    items: int
    nominal: float
    ordinal: float
    interval: tuple[float, float] | None  # of the ordinal one


@dataclass(frozen=True, slots=True)
class Side:
    """How often the first description was chosen or came off better: near ½ where positions do not matter."""

    measure: str
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class RatingRow:
    """One answer about one system: a row of the exported table."""

    study: str
    rater: int
    item: str
    kind: str
    question: str
    measure: str
    system: str
    position: int
    value: float
    seconds: float
    at: float
    excluded: bool
    simulated: bool

    def to_dict(self) -> JsonDict:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Results:
    id: str
    plan: Plan
    systems: tuple[str, ...]
    simulated: bool
    created: float
    first: float  # when the first answer came
    lines: tuple[Line, ...]
    duels: tuple[Duel, ...]
    agreement: tuple[Agreement, ...]
    sides: tuple[Side, ...]
    conduct: tuple[Conduct, ...]
    table: tuple[RatingRow, ...]
    counts: dict[str, int]
    seconds: float  # median, from the clip's end to the answer
    warnings: tuple[str, ...]

    @property
    def target(self) -> str:
        return self.systems[-1]


@dataclass(frozen=True, slots=True)
class Answers:
    """The input of `find_results`, from a store or from simulated raters."""

    id: str
    plan: Plan
    form: Form
    systems: tuple[str, ...]
    items: Sequence[Item]
    by_rater: dict[int, list[FinalAnswer]]  # by rater
    created: float = 0.0
    simulated: bool = False
    booklet: int = 0  # places of all booklets
    rows: int = 0  # ever written
    skipped: int = 0

    @classmethod
    def of(cls, store: Store) -> Answers:
        slots = {(s.rater, s.place): s for s in store.slots()}
        rows = store.answers()
        return cls(
            store.id, store.plan, store.form, store.systems, store.items, last_answers(slots, rows),
            store.created, store.simulated, len(slots), len(rows), len(store.events("skipped")),
        )  # fmt: skip


def last_answers(slots: dict[tuple[int, int], Slot], rows: Sequence[Row]) -> dict[int, list[FinalAnswer]]:
    """The last answer at each place, with the time that the first one took."""
    first: dict[tuple[int, int], float] = {}
    last: dict[tuple[int, int], Row] = {}
    for row in rows:
        first.setdefault((row.rater, row.place), row.seconds)
        last[row.rater, row.place] = row
    by_rater: dict[int, list[FinalAnswer]] = {}
    for key in sorted(last):
        row = last[key]
        by_rater.setdefault(row.rater, []).append(FinalAnswer(slots[key], row.answer, first[key], row.at, row.row))
    return by_rater


def find_results(answers: Answers) -> Results:
    """Run the plan's analysis."""
    plan, form = answers.plan, answers.form
    conduct = tuple(judge(plan, form, rater, rated) for rater, rated in sorted(answers.by_rater.items()))
    if not any(c.answers for c in conduct):
        raise InputError("has no answers yet", file=plan.title, hint="fabula study serve collects them")
    out = {c.rater for c in conduct if c.excluded}
    accepted = [g for rater, rated in sorted(answers.by_rater.items()) if rater not in out for g in rated]
    questions = [g for g in accepted if g.slot.role == "question"]
    if not questions:
        raise InputError(
            f"all {len(out)} raters are left out by the plan's rule",
            file=plan.title,
            hint="ask others; the rule stands",
        )
    table = tuple(list_ratings(answers, out))
    used = [t for t in table if not t.excluded]
    warnings = list(warn(answers, out, questions))
    all_answers = [g for rated in answers.by_rater.values() for g in rated]
    return Results(
        id=answers.id,
        plan=plan,
        systems=answers.systems,
        simulated=answers.simulated,
        created=answers.created,
        first=min(g.at for g in all_answers),
        lines=tuple(list_lines(form, answers.systems, used, plan.analysis.level)),
        duels=tuple(list_duels(form, answers.systems, used, plan)),
        agreement=tuple(list_agreement(answers, questions)),
        sides=tuple(list_sides(form, questions, plan.analysis.level)),
        conduct=conduct,
        table=table,
        counts={
            "raters": len(answers.by_rater),
            "left out": len(out),
            "questions": len({g.slot.question for g in questions}),
            "answers": len(questions),
            "answers of raters left out": sum(c.answers for c in conduct if c.excluded),
            "rows written": answers.rows,
            "places unanswered": answers.booklet - sum(map(len, answers.by_rater.values())),
            "clips passed over": answers.skipped,
        },
        seconds=median(g.seconds for g in questions),
        warnings=tuple(warnings),
    )


def list_ratings(answers: Answers, out: set[int]) -> list[RatingRow]:
    """One row per answer and system, without checks."""
    found = []
    for rater, rated in sorted(answers.by_rater.items()):
        for g in rated:
            if g.slot.role != "question":
                continue
            item = answers.items[g.slot.item]
            for t in answers.form.ratings(g.answer, g.slot.order):
                found.append(
                    RatingRow(
                        answers.id, rater + 1, item.id, item.kind, g.slot.question, t.measure, t.system, t.position,
                        t.value, round(g.seconds, 3), g.at, rater in out, answers.simulated,
                    )
                )  # fmt: skip
    return found


def list_lines(form: Form, systems: Sequence[str], used: Sequence[RatingRow], level: float) -> list[Line]:
    """Each measure of each system, over all items and by kind; of two systems a choice says all by the target."""
    kinds = sorted({t.kind for t in used})
    found = []
    for measure in form.measures:
        pair = measure in form.choices and len(systems) == 2
        for system in systems[-1:] if pair else systems:
            for kind in ["", *(k for k in kinds if len(kinds) > 1)]:
                values = [t for t in used if t.measure == measure and t.system == system and kind in ("", t.kind)]
                if values:
                    share = form.is_share(measure)
                    found.append(Line(measure, system, kind, share, estimate(values, level, share)))
    return found


def estimate(values: Sequence[RatingRow], level: float, share: bool) -> Estimate:
    return mean_of([t.value for t in values], [t.rater for t in values], [t.item for t in values], level, share)


def list_duels(form: Form, systems: Sequence[str], used: Sequence[RatingRow], plan: Plan) -> list[Duel]:
    found = []
    for measure in form.measures:
        own = [t for t in used if t.measure == measure]
        if measure in form.yes_no:  # the target alone is judged: yes less no
            values, level = [2 * t.value - 1 for t in own], plan.analysis.level
            yes = mean_of(values, [t.rater for t in own], [t.item for t in own], level)
            found.append(Duel(measure, systems[0], systems[-1], yes, yes.p(), yes.p()))
            continue
        duels = []
        for a, b in combinations(systems, 2):
            e = differ([t for t in own if t.system == a], [t for t in own if t.system == b], plan.analysis.level)
            if e is not None:
                duels.append((a, b, e, e.p()))
        corrected = iter(holm([p for *_, p in duels if p is not None]))
        found += [Duel(measure, a, b, e, p, None if p is None else next(corrected)) for a, b, e, p in duels]
    return found


def differ(a: Sequence[RatingRow], b: Sequence[RatingRow], level: float) -> Estimate | None:
    """b − a: within an answer, within rater and item, or within an item."""
    if not a or not b:
        return None
    for name in ("question", "item"):
        first = {(t.rater, getattr(t, name)): t for t in a}
        pairs = [(first[t.rater, getattr(t, name)], t) for t in b if (t.rater, getattr(t, name)) in first]
        if len(pairs) >= min(len(a), len(b)) / 2:
            values = [y.value - x.value for x, y in pairs]
            return mean_of(values, [y.rater for _, y in pairs], [y.item for _, y in pairs], level)
    # two means over other answers: the difference is the mean of ±2·value/share, centred within its system
    n, m = len(a), len(b)
    means = [sum(t.value for t in side) / len(side) for side in (a, b)]
    scaled = [-(t.value - means[0]) * (n + m) / n for t in a] + [(t.value - means[1]) * (n + m) / m for t in b]
    every = [*a, *b]
    delta = means[1] - means[0]
    return mean_of([delta + s for s in scaled], [t.rater for t in every], [t.item for t in every], level)


def list_agreement(answers: Answers, questions: Sequence[FinalAnswer]) -> list[Agreement]:
    """α of each measure, over what was said of the same thing, whatever its position."""
    form, how = answers.form, answers.plan.analysis
    found = []
    for measure in form.measures:
        units: dict[tuple[str, str], list[float]] = {}
        raters = set[int]()
        for g in questions:
            for f in form.fields(len(g.slot.order)):
                if f.measure == measure:
                    about = g.slot.order[f.position - 1] if f.position else ""
                    value = form.code(f.name, g.answer, g.slot.order, answers.systems)
                    units.setdefault((g.slot.question, about), []).append(value)
                    raters.add(g.slot.rater)
        values = [unit for unit in units.values() if len(unit) > 1]
        if not values:
            continue
        bounds = alpha_interval(values, "ordinal", how.resamples, answers.plan.seed, how.level)
        found.append(
            Agreement(measure, len(raters), len(values), alpha(values, "nominal"), alpha(values, "ordinal"), bounds)
        )
    return found


def list_sides(form: Form, questions: Sequence[FinalAnswer], level: float) -> list[Side]:
    """The share of choices that fell on description 1, ties half; of marks, whether the first had the higher one."""
    if form.fixed:  # description 1 is not judged
        return []
    found = []
    for measure in form.measures:
        values, raters, items = [], [], []
        for g in questions:
            if len(g.slot.order) < 2:
                continue
            if measure in form.choices:
                chosen = g.answer[measure]
                value = 0.5 if chosen == 0 else float(chosen == 1)
            else:
                marks = [g.answer[f"{measure}_{p}"] for p in range(1, len(g.slot.order) + 1)]
                first, rest = marks[0], marks[1:]
                better = [(x > first) if measure == "rank" else (x < first) for x in rest]
                value = (sum(better) + 0.5 * sum(x == first for x in rest)) / len(rest)
            values.append(value)
            raters.append(g.slot.rater)
            items.append(g.slot.item)
        if values:
            found.append(Side(measure, mean_of(values, raters, items, level)))
    return found


def warn(answers: Answers, out: set[int], questions: Sequence[FinalAnswer]) -> list[str]:
    warnings = []
    plan = answers.plan
    if answers.simulated:
        warnings.append("these raters are simulated: nothing here was said by people")
    raters = len({g.slot.rater for g in questions})
    if raters < 2:
        warnings.append("one rater: no interval and no agreement can be told")
    counts: dict[str, int] = {}
    for g in questions:
        counts[g.slot.question] = counts.get(g.slot.question, 0) + 1
    few = sum(n < plan.raters_per_question for n in counts.values())
    if few:
        warnings.append(
            f"{few} of {len(counts)} questions have fewer than the planned {plan.raters_per_question} answers"
        )
    return warnings


def to_dict(r: Results) -> JsonDict:
    """For programs."""
    return {
        "study": r.id,
        "simulated": r.simulated,
        "plan": r.plan.to_dict(),
        "made": r.created,
        "first answer": r.first,
        "systems": list(r.systems),
        "target": r.target,
        "counts": r.counts,
        "median seconds": r.seconds,
        "measures": [
            {"measure": x.measure, "letter": x.letter, "system": x.system, "kind": x.kind} | describe(x.estimate)
            for x in r.lines
        ],
        "differences": [
            {"measure": d.measure, "a": d.a, "b": d.b, "p": d.p, "p_holm": d.p_holm} | describe(d.estimate)
            for d in r.duels
        ],
        "agreement": [clean(asdict(a)) for a in r.agreement],
        "first position": [{"measure": s.measure} | describe(s.estimate) for s in r.sides],
        "raters": [
            {"rater": c.rater + 1, "answers": c.answers, "checks": c.checks, "passed": c.passed,
             "hurried": c.hurried, "same": c.same, "left out": list(c.why)}
            for c in r.conduct
        ],
        "warnings": list(r.warnings),
    }  # fmt: skip


def describe(e: Estimate) -> JsonDict:
    bounds = None if e.interval is None else [e.interval.low, e.interval.high]
    number = clean({"value": e.value, "se": e.se})
    return number | {"interval": bounds, "answers": e.answers, "raters": e.raters, "items": e.items}


def clean(document: JsonDict) -> JsonDict:
    """The document with None for NaN, which JSON lacks."""
    return {k: None if isinstance(v, float) and v != v else v for k, v in document.items()}
