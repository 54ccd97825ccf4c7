"""VERIFIED's form as printed: 0/1 about description 2, its accuracy; 50 + 50 items by kind; R_s, R_d, S by kind."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes
from fabula.studies import report
from fabula.studies import steps as api
from fabula.studies.forms import GUIDE, make_form
from fabula.studies.items import read_items
from fabula.studies.plan import Plan
from fabula.studies.results import to_dict
from fabula.studies.store import Store
from tests.studies.made import Clock, Rater, film, make_plan, make_study, serving
from tests.studies.test_results import fill


def test_the_fields_are_those_of_the_listing() -> None:
    fields = make_form("yes-no").fields(2)
    assert [(f.name, f.measure, f.position, [v for v, _ in f.options]) for f in fields] == [
        ("static_2", "static", 2, [1, 0]),
        ("dynamic_2", "dynamic", 2, [1, 0]),
        ("accuracy_2", "accuracy", 2, [5, 4, 3, 2, 1]),
    ]
    with pytest.raises(SpecError, match="no such option"):
        make_form("yes-no").check({"static_2": 2, "dynamic_2": 0, "accuracy_2": 5}, 2)
    assert "An example" in GUIDE and make_form("richer").guide == ""


def test_description_2_is_always_the_target(tmp_path: Path) -> None:
    """Gold questions and a plan that asks for balance included; three systems are one too many."""
    gold = {"id": "g", "video": "one", "time": [0.2, 1.2], "descriptions": {"coarse": "c", "fine": "f"}}
    expect = {"static": {"fine": [1, 1]}, "accuracy": {"fine": [4, 5]}}
    (tmp_path / "gold.jsonl").write_text(json.dumps(gold | {"expect": expect}) + "\n")
    plan = make_plan(tmp_path, count=8, form="yes-no", gold="gold.jsonl", golds=1, checks=2)
    _, design = api.new(plan, out=tmp_path / "study")
    assert {slot.order for slot in design.slots} == {("coarse", "fine")}
    assert {slot.role for slot in design.slots} == {"question", "check", "gold"}
    with pytest.raises(InputError, match="compares one system with another, and there are 3"):
        api.new(make_plan(tmp_path, systems=("a", "b", "c"), form="yes-no"), out=tmp_path / "other")


def test_results_are_shares_of_yes_and_the_mean_mark_by_kind(tmp_path: Path) -> None:
    study, _ = make_study(tmp_path, count=8, form="yes-no", questions=8)

    def choose(slot: Any, form: Any, rng: Any) -> dict[str, int]:
        static = int(slot.item % 2 == 0 or slot.rater == 0)
        return {"static_2": static, "dynamic_2": int(rng.random() < 0.7), "accuracy_2": rng.randint(2, 5)}

    fill(study, choose)
    found = api.results(study)
    with Store(study) as store:
        slots = {(s.rater, s.place): s for s in store.slots()}
        rows = [(slots[r.rater, r.place].item % 2, r.answer) for r in store.answers()]
    numbers = {(x.letter, x.kind): x.estimate.value for x in found.lines}
    for letter, name in (("R_s", "static_2"), ("R_d", "dynamic_2"), ("S", "accuracy_2")):
        for kind, parity in (("", None), ("static", 0), ("dynamic", 1)):
            by_hand = mean(answer[name] for odd, answer in rows if parity in (None, odd))
            assert numbers[letter, kind] == pytest.approx(by_hand)
    assert {x.system for x in found.lines} == {"fine"} and not found.sides
    duel = next(d for d in found.duels if d.measure == "static")
    assert duel.estimate.value == pytest.approx(2 * numbers["R_s", ""] - 1) and (duel.a, duel.b) == ("coarse", "fine")
    assert any("$R_s$" in line and "static" in line and "$S$" in line for line in report.latex(found))
    assert "R_s" in "\n".join(report.plain(found)) and "R_d" in report.page(found) and to_dict(found)["measures"]


def test_simulated_studies_and_power_know_it(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, count=30, form="yes-no", questions=30, raters=6, raters_per_question=6, checks=4)
    options = api.SimulateOptions(studies=20, effect=0.6, mix="careful=5,random=1", out=tmp_path / "simulated")
    done = api.simulate(plan, options=options)
    assert done["value"] == pytest.approx(0.8, abs=0.08) and done["first description ahead"] is None
    assert done["found"] > 0.7 and done["left out"]["random"]["share"] > 0.8
    assert api.power(plan)[0].measure == "static"
    assert {x.letter for x in api.results(tmp_path / "simulated").lines} == {"R_s", "R_d", "S"}


def test_it_is_served_with_instructions_and_asks_for_an_id(tmp_path: Path) -> None:
    pytest.importorskip("fastapi", reason="the server needs fabula[web]")
    pytest.importorskip("httpx", reason="the server's tests need httpx")
    clock = Clock()
    study, tokens = make_study(tmp_path, count=2, form="yes-no", raters_per_question=1, rater_id="Your student id")
    with serving(study, clock) as (address, store):
        rater = Rater(address, tokens[0], clock)
        assert rater.get("/api/state").json()["guide"] == GUIDE
        rater.agree()
        assert rater.post("/api/id", {"id": "early"}).status_code == 409
        for place in range(2):
            question = rater.watch(place)
            assert question["descriptions"] == [f"{s} words {store.slots()[place].item}" for s in ("coarse", "fine")]
            assert [f["name"] for f in question["fields"]] == ["static_2", "dynamic_2", "accuracy_2"]
            clock.now += 5
            assert rater.answer(place, {"static_2": 1, "dynamic_2": 0, "accuracy_2": 4}).status_code == 200
        state = rater.get("/api/state").json()
        assert state["rater_id"] == "Your student id" and "code" not in state
        for bad in ("", " ", "x" * 65, "a\nb", 7):
            assert rater.post("/api/id", {"id": bad}).status_code == 422
        state = rater.post("/api/id", {"id": "s-2024 <7>"}).json()
        assert state["code"] == store.code(0) and "rater_id" not in state
    found = api.results(study)
    assert api.write_ids(study, found, tmp_path / "ids.csv") == 1
    (row,) = csv.DictReader((tmp_path / "ids.csv").read_text().splitlines())
    assert (row["rater"], row["id"], row["answers"]) == ("1", "s-2024 <7>", "2")
    assert "s-2024" not in json.dumps(to_dict(found))


@pytest.mark.parametrize("kinds", [False, True])
def test_kinds_travel_from_annotate_to_the_study(tmp_path: Path, kinds: bool) -> None:
    pytest.importorskip("httpx", reason="the extra llm is not installed")
    from fabula.annotation import benchmark
    from fabula.annotation.recipe import RecipeOptions
    from fabula.io.moments import read_queries
    from tests.annotation.toys import write_moments

    moments = write_moments(tmp_path / "m.jsonl", 30)
    benchmark.run(moments, options=benchmark.RunOptions(store=tmp_path / "s"), recipe=RecipeOptions(blind=True))
    benchmark.export(benchmark.ExportOptions(store=tmp_path / "s", out=tmp_path / "bench", kinds=kinds))
    lines = [json.loads(line) for line in (tmp_path / "bench" / "train.jsonl").read_text().splitlines()]
    assert all(("branch" in line) == kinds for line in lines)
    file = tmp_path / "bench" / "train.jsonl"
    if kinds:  # they travel with the file alone, and readers of the released format do not mind
        file = file.rename(tmp_path / "alone.jsonl")
    notes = Notes()
    assert len(read_queries([file], notes)) == 30 and not any("not used" in line for line in notes.lines())
    items = read_items(Plan(title="t", benchmark=file.name), file.parent)
    whence = (tmp_path / "bench" / "provenance.jsonl").read_text().splitlines()
    chosen = [json.loads(line)["chosen"]["branch"] for line in whence]
    assert [item.kind for item in items] == chosen and set(chosen) == {"static", "dynamic"}
    (tmp_path / "clips").mkdir()
    for n in range(7):
        (tmp_path / "clips" / f"v{n}.mp4").write_bytes(film(40.0))
    least = 2 * min(chosen.count("static"), chosen.count("dynamic"))
    settings = f'title = "t"\nform = "yes-no"\nclips = "clips"\nbenchmark = "{file.relative_to(tmp_path)}"\n'
    (tmp_path / "PLAN.toml").write_text(settings + f"sample = {least}\nchecks = 0\n")
    api.new(tmp_path / "PLAN.toml", out=tmp_path / "study")
    with Store(tmp_path / "study") as store:
        drawn = [item.kind for item in store.items]
    assert drawn.count("static") == drawn.count("dynamic") == least // 2
