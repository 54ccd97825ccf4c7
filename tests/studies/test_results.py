"""Results recomputed by hand from the rows of the store, in other code; who is left out and why; every way out."""

from __future__ import annotations

import csv
import json
import random
import sqlite3
from statistics import mean

import pytest

from fabula.core.errors import InputError
from fabula.stats.agreement import alpha
from fabula.stats.bootstrap import Interval
from fabula.stats.twoway import Estimate
from fabula.studies import report
from fabula.studies import steps as api
from fabula.studies.results import Answers, find_results, to_dict
from fabula.studies.store import Store
from tests.studies.made import EVIL, make_study


def fill(study, choose, seconds=lambda rater, place: 9.0):
    """Answers of all raters, straight into the store; `choose(slot, form, rng)`."""
    rng = random.Random(0)
    with Store(study, work=True) as store, store.together():
        for n, slot in enumerate(store.slots()):
            answer = choose(slot, store.form, rng)
            store.db.execute(
                "INSERT INTO answers (rater, place, nonce, answer, seconds, at) VALUES (?, ?, ?, ?, ?, ?)",
                (slot.rater, slot.place, f"{n:032x}", json.dumps(answer), seconds(slot.rater, slot.place), 1e9 + n),
            )


def careful(slot, form, rng):
    if slot.role == "check":
        return dict(slot.expect)
    return {f.name: rng.choice(f.options)[0] for f in form.fields(len(slot.order))}


def by_hand(study, without=()):
    """R_s, R_d and S from the database alone: for each row, which description was fine's?"""
    db = sqlite3.connect(study / "study.sqlite")
    question = "SELECT s.rater, s.shown, s.item, a.answer FROM answers a JOIN slots s USING (rater, place)"
    question += " WHERE role = 'question'"
    kinds = [
        item["kind"] for item in json.loads(db.execute("SELECT value FROM study WHERE key = 'items'").fetchone()[0])
    ]
    table: dict[tuple[str, str], list[float]] = {}
    for rater, shown, item, text in db.execute(question).fetchall():
        if rater in without:
            continue
        answer, fine = json.loads(text), json.loads(shown).index("fine") + 1
        for kind in ("", kinds[item]):
            for name in ("static", "dynamic"):
                table.setdefault((name, kind), []).append(1.0 if answer[name] == fine else 0.0)
            table.setdefault(("accuracy fine", kind), []).append(answer[f"accuracy_{fine}"])
            table.setdefault(("accuracy coarse", kind), []).append(answer[f"accuracy_{3 - fine}"])
    db.close()
    return table


def test_recomputed_by_hand(tmp_path):
    study, _ = make_study(tmp_path, count=30, checks=4)
    fill(study, careful)
    found = api.results(study)
    table = by_hand(study)
    assert found.counts["raters"] == 3 and found.counts["left out"] == 0 and found.counts["answers"] == 90
    for line in found.lines:
        key = (f"accuracy {line.system}" if line.measure == "accuracy" else line.measure, line.kind)
        assert line.estimate.value == pytest.approx(mean(table[key])), key
        assert line.estimate.answers == len(table[key])
        low, high = line.estimate.interval
        assert low < line.estimate.value < high
    letters = {(x.letter, x.system, x.kind) for x in found.lines}
    assert {("R_s", "fine", ""), ("R_d", "fine", "dynamic"), ("S", "fine", "static"), ("S", "coarse", "")} <= letters
    duel = next(d for d in found.duels if d.measure == "accuracy")
    assert (duel.a, duel.b) == ("coarse", "fine")
    assert duel.estimate.value == pytest.approx(mean(table["accuracy fine", ""]) - mean(table["accuracy coarse", ""]))


def test_agreement_forgets_positions(tmp_path):
    """Raters who all choose the same system agree, wherever it stood; who all choose the first description do not."""
    study, _ = make_study(tmp_path, count=12, raters_per_question=4, questions=12)

    def same_system(slot, form, rng):
        best = "fine" if int(slot.question[1:]) % 3 else "coarse"
        p = slot.order.index(best) + 1
        return {"static": p, "dynamic": p, "accuracy_1": 5 if p == 1 else 2, "accuracy_2": 5 if p == 2 else 2}

    fill(study, same_system)
    found = api.results(study)
    assert all(a.nominal == pytest.approx(1) and a.ordinal == pytest.approx(1) for a in found.agreement)
    with Store(study) as store:
        units: dict[str, list[float]] = {}
        for slot, row in zip(store.slots(), store.answers(), strict=True):
            units.setdefault(slot.question, []).append(row.answer["static"])
        assert alpha(list(units.values()), "nominal") < 0.2  # by position, unlike by system


def test_the_last_answer_counts_and_the_first_one_is_timed(tmp_path):
    study, _ = make_study(tmp_path, count=10, questions=10, shortest=5.0)
    fill(study, careful)
    with Store(study, work=True) as store, store.together():
        answer = json.dumps({"static": 0, "dynamic": 0, "accuracy_1": 1, "accuracy_2": 1})
        values = (0, 3, "f" * 32, answer, 1.0, 2e9)  # later and sooner
        store.db.execute(
            "INSERT INTO answers (rater, place, nonce, answer, seconds, at) VALUES (?, ?, ?, ?, ?, ?)", values
        )
    with Store(study) as store:
        given = Answers.of(store).by_rater[0][3]
    assert given.answer["accuracy_1"] == 1 and given.seconds == 9.0
    assert api.results(study).counts["answers"] == 30 and api.results(study).counts["rows written"] == 31


def test_the_rule_leaves_out_by_name(tmp_path):
    """Rater 1 fails the checks, rater 2 hurries, rater 3 says one thing; the others stay."""
    study, _ = make_study(tmp_path, count=30, raters_per_question=5, checks=4)

    def choose(slot, form, rng):
        if slot.rater == 0 and slot.role == "check":
            return {name: {1: 2, 2: 1}.get(value, 1) for name, value in slot.expect.items()}
        if slot.rater == 2 and slot.role == "question":
            return {"static": 1, "dynamic": 1, "accuracy_1": 5, "accuracy_2": 5}
        return careful(slot, form, rng)

    fill(study, choose, lambda rater, place: 0.5 if rater == 1 and place % 3 == 0 else 9.0)
    found = api.results(study)
    why = {c.rater: c.why for c in found.conduct}
    assert "passed 0 of 4 checks, fewer than 75%" in why[0][0]
    assert "of answers within 2 s, more than 20%" in why[1][0]
    assert "100% of choices on one side, more than 95%" in why[2][0]
    assert why[3] == why[4] == ()
    assert found.counts["left out"] == 3 and found.counts["answers"] == 60
    table = by_hand(study, without={0, 1, 2})
    line = next(x for x in found.lines if x.measure == "static" and not x.kind)
    assert line.estimate.value == pytest.approx(mean(table["static", ""]))
    assert {t.rater for t in found.table if t.excluded} == {1, 2, 3}
    told = "\n".join(report.plain(found))
    assert "left out: rater 1\tpassed 0 of 4" in told and "rule: left out is who passes fewer than 75%" in told
    assert "plan fixed" in told


def test_gold_questions(tmp_path):
    (tmp_path / "gold.jsonl").write_text(
        json.dumps(
            {"id": "g", "video": "one", "time": [0, 1], "descriptions": {"coarse": "x", "fine": "y"},
             "expect": {"static": "fine", "dynamic": "neither", "accuracy": {"fine": [4, 5]}}}
        ) + "\n"
    )  # fmt: skip
    study, _ = make_study(tmp_path, count=12, questions=12, gold="gold.jsonl", golds=1, checks=0)

    def choose(slot, form, rng):
        if slot.role != "gold":
            return careful(slot, form, rng)
        p = slot.order.index("fine") + 1
        right = {"static": p, "dynamic": 0, f"accuracy_{p}": 4, f"accuracy_{3 - p}": 1}
        return right if slot.rater else {**right, f"accuracy_{p}": 3}

    fill(study, choose)
    found = api.results(study)
    assert [c.passed for c in found.conduct] == [0, 1, 1] and [c.excluded for c in found.conduct] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("form", "systems", "measures"),
    [
        ("preference", ("a", "b", "c"), {"better"}),
        ("rank", ("a", "b", "c"), {"rank"}),
        ("scale", ("a", "b"), {"accuracy", "fluency"}),
        ("true", ("a", "b"), {"true"}),
    ],
)
def test_the_other_forms(tmp_path, form, systems, measures):
    more = {"scales": ["accuracy", "fluency"]} if form == "scale" else {}
    study, _ = make_study(tmp_path, count=12, systems=systems, form=form, questions=12, **more)

    def choose(slot, form_, rng):
        answer = careful(slot, form_, rng)
        if form == "rank":
            places = rng.sample([1, 2, 3], 3)
            return {f"rank_{p + 1}": places[p] for p in range(3)}
        return answer

    fill(study, choose)
    found = api.results(study)
    assert {x.measure for x in found.lines} == measures
    rows = list(found.table)
    for line in found.lines:
        own = [
            t.value for t in rows if (t.measure, t.system) == (line.measure, line.system) and line.kind in ("", t.kind)
        ]
        assert line.estimate.value == pytest.approx(mean(own))
    if form == "rank":
        assert mean(x.estimate.value for x in found.lines if not x.kind) == pytest.approx(2)
    if form == "preference":
        assert mean(x.estimate.value for x in found.lines if not x.kind) == pytest.approx(0.5)
    pairs = {(d.a, d.b) for d in found.duels if d.measure in measures}
    assert len(pairs) == (3 if len(systems) == 3 else 1)
    assert all(d.p_holm >= d.p for d in found.duels)
    assert report.page(found) and list(report.latex(found)) and json.dumps(to_dict(found), allow_nan=False)


def test_ways_out(tmp_path):
    study, _ = make_study(tmp_path, count=12, questions=12, title=f"A & <b>study</b> {EVIL}")
    fill(study, careful)
    found = api.results(study)
    page = report.page(found)
    assert "<script" not in page and "onerror='" not in page and "&lt;b&gt;study&lt;/b&gt;" in page
    assert page.count("<svg") >= 3 and "default-src 'none'" in page
    tex = "\n".join(report.latex(found))
    assert r"\toprule" in tex and "$R_s$" in tex and "$S$" in tex
    api.write_ratings(found.table, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 36 * 6 and {r["study"] for r in rows} == {found.id}
    assert float(rows[0]["value"]) == found.table[0].value
    pa = pytest.importorskip("pyarrow.parquet")
    api.write_ratings(found.table, tmp_path / "a.parquet")
    assert pa.read_table(tmp_path / "a.parquet").num_rows == len(rows)


def test_nothing_to_tell(tmp_path):
    study, _ = make_study(tmp_path, count=12, questions=12, checks=3)
    with pytest.raises(InputError, match="has no answers yet"):
        api.results(study)
    fill(study, lambda slot, form, rng: {f.name: f.options[0][0] for f in form.fields(2)}, lambda *_: 0.1)
    with pytest.raises(InputError, match="all 3 raters are left out by the plan's rule"):
        api.results(study)


def test_one_rater_has_no_interval(tmp_path):
    study, _ = make_study(tmp_path, count=5, questions=5, raters_per_question=1)
    fill(study, careful)
    found = api.results(study)
    assert all(x.estimate.interval is None for x in found.lines) and "one rater" in found.warnings[0]
    assert "–" in "\n".join(report.plain(found)) and report.page(found)


def test_answers_of_copies_are_added_and_of_others_refused(tmp_path):
    (tmp_path / "other").mkdir()
    study, _ = make_study(tmp_path, count=10, questions=10)
    other, _ = make_study(tmp_path / "other", count=10, questions=10, title="Another")
    copy = tmp_path / "copy.sqlite"
    api.backup(study, copy)
    fill(study, careful)
    fill(other, careful)
    plain = api.results(study)
    assert to_dict(api.results(study, [copy])) == to_dict(plain)  # a copy from before adds nothing
    assert (
        to_dict(api.results(copy, [study]))["measures"] == to_dict(plain)["measures"]
    )  # and is made whole by the other
    with pytest.raises(InputError, match="holds answers of another study"):
        api.results(study, [other])
    assert to_dict(api.results(study)) == to_dict(plain)  # nothing was lost
    with Store(study) as store:
        assert find_results(Answers.of(store)).id == store.id


def test_one_opinion_throughout_may_be_honest(tmp_path):
    """Who always takes the target's side changes sides with it; who finds everything true, or neither richer, stays."""
    always = {
        "richer": lambda slot: (
            dict.fromkeys(("static", "dynamic"), slot.order.index("fine") + 1) | {"accuracy_1": 5, "accuracy_2": 5}
        ),
        "true": lambda slot: {"true_1": 1},
        "scale": lambda slot: {"accuracy_1": 5},
        "preference": lambda slot: {"better": 0},
    }
    for form, choose in always.items():
        (tmp_path / form).mkdir()
        study, _ = make_study(tmp_path / form, count=30, form=form)
        fill(study, lambda slot, form_, rng, choose=choose: choose(slot))
        assert not any(c.excluded for c in api.results(study).conduct), form
    (tmp_path / "fixed").mkdir()
    study, _ = make_study(tmp_path / "fixed", count=30, balance=False)
    fill(study, lambda slot, form_, rng: always["richer"](slot))  # the second description, always
    assert not any(c.excluded for c in api.results(study).conduct)


def test_seconds_are_written_in_thousandths(tmp_path):
    study, _ = make_study(tmp_path, count=10, questions=10)
    fill(study, careful, lambda rater, place: 9.12345)
    assert {row.seconds for row in api.results(study).table} == {9.123}


def test_intervals_are_drawn_with_the_line_of_no_difference():
    estimate = Estimate(60.0, 5.0, 9.0, Interval(50.0, 70.0), 10, 3, 5)
    drawn = report.draw_intervals([("fine", estimate)], 0, 100, 50)
    assert drawn.count('class="null"') == 1 and '<line class="null" x1="470.0" x2="470.0"' in drawn
    assert 'class="null"' not in report.draw_intervals([("fine", estimate)], 0, 100, None)
