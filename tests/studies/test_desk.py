"""The server's desk and the store without a socket: what each call gives and refuses, to the second."""

from __future__ import annotations

import json
import sqlite3
import stat
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

from starlette.exceptions import HTTPException

from fabula.core.errors import InputError, MissingExtra
from fabula.studies import steps
from fabula.studies import store as module
from fabula.studies.results import Answers, find_results, last_answers
from fabula.studies.server import Desk
from fabula.studies.store import (
    RefusedError,
    Row,
    Store,
    as_kind,
    as_seconds,
    as_text,
    find_store,
    make_clock,
    read_item,
)
from fabula.web.binding import Binding
from fabula.web.tokens import hash_token
from tests.studies.made import Clock, make_plan, make_study

GOOD = {"static": 1, "dynamic": 2, "accuracy_1": 4, "accuracy_2": 5}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    return make_study(
        folder, count=4, questions=4, checks=1, intro="Hello", contact="me", return_url="https://x/?c={code}"
    )


@pytest.fixture
def desk(made, tmp_path):
    """A desk at a copy of the study, with a clock of its own."""
    copy = tmp_path / "study"
    copy.mkdir()
    (copy / "study.sqlite").write_bytes((made[0] / "study.sqlite").read_bytes())
    with Store(copy, work=True, clock=Clock()) as store:
        yield Desk(store, Binding())


def refused(call, *values) -> tuple[int, str]:
    with pytest.raises(HTTPException) as error:
        call(*values)
    return error.value.status_code, error.value.detail


def watch(desk: Desk, place: int, rater: int = 0) -> None:
    desk.question(rater, place)
    desk.fetch(rater, place)
    desk.store.clock.now += 1.0
    desk.play(rater, place)


def test_the_state_of_a_rater(desk):
    plan = desk.store.plan
    begin = {"title": "Kitchen", "intro": "Hello", "consent": plan.consent, "contact": "me", "simulated": False}
    assert desk.state(0) == begin | {"agreed": False, "next": 0, "of": 5, "done": False}
    assert desk.agree(0) == begin | {"agreed": True, "next": 0, "of": 5, "done": False}
    for place in range(3):
        assert desk.skip(0, place)["next"] == place + 1
    for place in (3, 4):
        watch(desk, place)
        desk.answer(0, place, f"{place:032x}", GOOD)
    code = desk.store.code(0)
    assert desk.state(0) == begin | {
        **{"agreed": True, "next": 5, "of": 5, "done": True, "code": code, "return_url": f"https://x/?c={code}"}
    }


def test_a_question(desk):
    desk.agree(0)
    slot, store = desk.slot(0, 0), desk.store
    item = store.items[slot.item]
    assert desk.question(0, 0) == {
        "place": 0,
        "of": 5,
        "lead": "Watch the clip, then compare the two descriptions.",
        "clip": {"src": "/media/0", "start": 0.2, "end": 1.2},
        "descriptions": [item.descriptions[s] for s in slot.order],
        "fields": [f.to_dict() for f in store.form.fields(2)],
        "distinct": False,
        "played": False,
        "answer": None,
    }
    watch(desk, 0)
    desk.answer(0, 0, "0" * 32, GOOD)
    again = desk.question(0, 0)
    assert again["played"] is True and again["answer"] == GOOD
    assert store.when(0, 0, "shown") == 1_000_000.0 and store.events("fetched") == {(0, 0): 1_000_000.0}


def test_a_check_says_what_to_answer(desk):
    desk.agree(0)
    (place,) = [s.place for s in desk.booklets[0] if s.role == "check"]
    for k in range(place):
        watch(desk, k)
        desk.answer(0, k, f"{k:032x}", GOOD)
    first, second = desk.question(0, place)["descriptions"]
    assert first.startswith("This is a check") and second == "Please answer as the first description says."


def test_what_comes_first(desk):
    assert refused(desk.question, 0, 0) == (409, "consent comes first")
    desk.agree(0)
    assert refused(desk.question, 0, 1) == (409, "earlier questions come first")
    for place in (-1, 5, "0", True, None):
        assert refused(desk.question, 0, place) == (404, "no such question")
    assert refused(desk.play, 0, 0) == (409, "the clip was not fetched")
    desk.fetch(0, 0)
    assert desk.store.events("fetched") == {}  # it was not shown
    desk.question(0, 0)
    assert refused(desk.play, 0, 0) == (409, "the clip was not fetched")
    desk.fetch(0, 0)
    assert (0, 0) in desk.fetched


def test_nine_tenths_of_a_clip_must_have_passed(desk):
    desk.agree(0)
    desk.question(0, 0)
    desk.fetch(0, 0)
    desk.store.clock.now += 0.5
    with pytest.raises(HTTPException) as error:
        desk.play(0, 0)
    assert (error.value.status_code, error.value.headers) == (425, {"Retry-After": "0.40"})
    desk.store.clock.now += 0.3999
    assert refused(desk.play, 0, 0)[0] == 425
    desk.store.clock.now += 0.0002
    assert desk.play(0, 0) == {"played": True} and desk.store.when(0, 0, "played") == pytest.approx(1_000_000.9001)
    desk.store.clock.now -= 0.5
    assert desk.play(0, 0) == {"played": True}  # it was played once


def test_three_clips_may_be_passed_over(desk):
    desk.agree(0)
    for place in range(3):
        desk.skip(0, place)
    told = "too many clips were skipped; please write to the person who sent you the link"
    assert refused(desk.skip, 0, 3) == (409, told)
    assert desk.skip(0, 2)["next"] == 3  # again
    desk.agree(1)
    assert desk.skip(1, 0)["next"] == 1  # of her own


def test_answers_are_taken_once(desk):
    desk.agree(0)
    desk.question(0, 0)
    assert refused(desk.answer, 0, 0, "0" * 32, GOOD) == (409, "the clip was not played")
    watch(desk, 0)
    for nonce in ("0" * 31, "G" * 32, "0" * 33, 3, None):
        assert refused(desk.answer, 0, 0, nonce, GOOD) == (422, "no nonce")
    assert refused(desk.answer, 0, 0, "0" * 32, {})[0] == 422
    desk.store.clock.now += 2.5
    assert desk.answer(0, 0, "0" * 32, GOOD) == {"saved": True, "new": True} | desk.state(0)
    assert desk.answer(0, 0, "0" * 32, GOOD)["new"] is False  # sent twice
    assert desk.answer(0, 0, "1" * 32, GOOD)["new"] is False  # nothing changed
    other = {**GOOD, "static": 2}
    assert refused(desk.answer, 0, 0, "0" * 32, other) == (409, "this page has sent another answer already")
    assert desk.answer(0, 0, "2" * 32, other)["new"] is True
    rows = desk.store.answers()
    assert [(r.row, r.rater, r.place, r.answer, r.seconds) for r in rows] == [
        (1, 0, 0, GOOD, 2.5),
        (2, 0, 0, other, 2.5),
    ]
    assert desk.store.latest(0, 0) == other and desk.store.latest(0, 1) is None and rows[0].at == 1_000_003.5


def test_the_last_answer_counts_with_the_seconds_of_the_first(desk):
    slots = {(0, 0): desk.slot(0, 0), (0, 1): desk.slot(0, 1)}
    rows = [Row(1, 0, 1, {"a": 1}, 5.0, 10.0), Row(2, 0, 0, {"a": 2}, 6.0, 11.0), Row(3, 0, 1, {"a": 3}, 7.0, 12.0)]
    (first, second) = last_answers(slots, rows)[0]
    assert (first.slot.place, first.answer, first.seconds, first.at, first.row) == (0, {"a": 2}, 6.0, 11.0, 2)
    assert (second.slot.place, second.answer, second.seconds, second.at, second.row) == (1, {"a": 3}, 5.0, 12.0, 3)


# the store


def test_a_study_as_it_is_written(made, tmp_path):
    folder, tokens = made
    with sqlite3.connect(folder / "study.sqlite") as db:
        texts = dict(db.execute("SELECT key, value FROM study"))
        raters = db.execute("SELECT rater, token FROM raters ORDER BY rater").fetchall()
        numbers = [
            db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version", "journal_mode")
        ]
    db.close()
    assert numbers == [0x46414253, 1, "wal"] and texts["simulated"] == "false" and len(texts["id"]) == 12
    assert raters == [(n, hash_token(token)) for n, token in enumerate(tokens)]
    assert (folder / "links.csv").read_text() == "rater,link\n" + "".join(
        f"{n + 1},/start?token={token}\n" for n, token in enumerate(tokens)
    )
    assert (
        stat.S_IMODE((folder / "links.csv").stat().st_mode)
        == 0o600
        == stat.S_IMODE((folder / "study.sqlite").stat().st_mode)
    )


def test_what_is_read_of_it(made):
    folder, tokens = made
    with Store(folder) as store:
        assert store.systems == ("coarse", "fine") and len(store.items) == 4 and store.simulated is False
        assert store.tokens() == {hash_token(token): n for n, token in enumerate(tokens)} and not store.work
        assert [s.place for s in store.slots(1)] == [0, 1, 2, 3, 4] and len(store.slots()) == 5 * len(tokens)
        assert store.lock_file is None and store.latest_time() == store.created and store.next_place(0) == 0
        assert store.answers() == [] and store.events("shown") == {} and len(store.code(0)) == 8
        assert Answers.of(store).booklet == 5 * len(tokens) and Answers.of(store).rows == 0
        with pytest.raises(InputError, match="has no answers yet"):
            find_results(Answers.of(store))
    assert find_store(folder) == folder / "study.sqlite" == find_store(folder / "study.sqlite")
    with pytest.raises(InputError, match=r"no such study; fabula study new PLAN.toml --out STUDY makes one"):
        find_store(folder / "none")


def test_one_server_at_a_time(made):
    with Store(made[0], work=True) as store:
        assert store.lock_file is not None and stat.S_IMODE((made[0] / "serve.lock").stat().st_mode) == 0o600
        with pytest.raises(InputError, match="another server is using it; stop it first"):
            Store(made[0], work=True)
    assert store.lock_file is None
    Store(made[0], work=True).close()


def test_a_file_that_is_no_study(tmp_path):
    path = tmp_path / "x.sqlite"
    sqlite3.connect(path).close()
    path.write_bytes(b"no database at all, and longer than a header has to be" * 40)
    with pytest.raises(InputError, match="cannot be used as a study"):
        Store(path)
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE a (b)")
    db.close()
    with pytest.raises(InputError, match="is no study, or of another version"):
        Store(path)


def test_all_or_nothing_is_written(desk):
    store = desk.store
    with pytest.raises(KeyError), store.together():
        store.db.execute("INSERT INTO events (rater, place, kind, at) VALUES (0, 0, 'x', 1.0)")
        raise KeyError
    assert store.rows("SELECT * FROM events") == [] and not store.db.in_transaction
    with store.together(sure=False):
        assert store.db.execute("PRAGMA synchronous").fetchone()[0] == 1
    with store.together():
        assert store.db.execute("PRAGMA synchronous").fetchone()[0] == 2
    assert store.note(0, 0, "x") == 1_000_000.0
    store.clock.now += 5
    assert store.note(0, 0, "x") == 1_000_000.0 and store.note(0, 1, "x") == 1_000_005.0
    assert store.events("x") == {(0, 0): 1_000_000.0, (0, 1): 1_000_005.0} and store.latest_time() == store.created


def test_a_clock_that_never_goes_back(monkeypatch):
    monkeypatch.setattr(module.time, "time", lambda: 50.0)
    now = [7.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    early, late = make_clock(0.0), make_clock(80.0)
    now[0] = 9.5
    assert (early(), late()) == (52.5, 82.5)


def test_a_copy_is_whole_and_private(made, tmp_path):
    steps.backup(made[0], tmp_path / "copy.sqlite")
    assert stat.S_IMODE((tmp_path / "copy.sqlite").stat().st_mode) == 0o600
    with Store(tmp_path / "copy.sqlite") as copy, Store(made[0]) as store:
        assert copy.id == store.id and copy.slots() == store.slots()
        assert copy.rows("PRAGMA journal_mode")[0][0] == "delete"


@pytest.mark.parametrize("wrong", [True, None, "3", 1e12, float("nan")])
def test_no_seconds(wrong):
    with pytest.raises(ValueError, match="saw"):
        as_seconds(wrong)


def test_values_of_a_kind():
    assert (
        as_seconds(3) == 3.0 and as_seconds(-9.9e11) == -9.9e11 and as_text("a") == "a" and as_kind(True, bool) is True
    )
    for value, kind in ((1, bool), (True, int), ("a", dict)):
        with pytest.raises(ValueError, match="saw"):
            as_kind(value, kind)
    entry = {"id": "i", "video": "v", "start": 0, "end": 1, "descriptions": {"a": "x"}}
    assert read_item(entry).end == 1 and RefusedError("x").wait == 0.0
    for change in ({"end": 0}, {"start": -1}, {"video": 3}, {"descriptions": {"a": 3}}, {"kind": None}):
        with pytest.raises(ValueError, match=r"saw|from"):
            read_item(entry | change)


# steps


def test_a_plan_with_its_clips(tmp_path):
    path = make_plan(tmp_path, count=3)
    plan, design, clips = steps.load(path)
    assert plan.title == "Kitchen" and clips == tmp_path / "clips" and len(design.items) == 3
    path.write_text(path.read_text().replace('clips = "clips"', 'clips = "none"'))
    with pytest.raises(InputError, match="no such folder; say where the videos are: clips = FOLDER"):
        steps.load(path)


def test_gold_items_need_every_system(tmp_path):
    path = make_plan(tmp_path, count=3, gold="gold.jsonl")
    line = {"id": "g", "video": "one", "time": [0, 1], "expect": {"static": "fine"}}
    (tmp_path / "gold.jsonl").write_text(json.dumps(line | {"descriptions": {"fine": "x"}}) + "\n")
    with pytest.raises(InputError, match="gold item g needs descriptions of coarse, fine"):
        steps.load(path)
    (tmp_path / "gold.jsonl").write_text(json.dumps(line | {"descriptions": {"fine": "x", "coarse": "y"}}) + "\n")
    _, design, _ = steps.load(path)
    assert [i.id for i in design.items] == ["i0", "i1", "i2", "g"] and {s.role for s in design.slots} == {
        "question",
        "gold",
    }


def test_a_simulation_of_a_plan(tmp_path):
    path = make_plan(tmp_path, count=6, questions=6, raters_per_question=3)
    seen = []
    options = steps.SimulateOptions(mix="careful=2,random=1", studies=3, seed=4)
    found = steps.simulate(path, options=options, progress=lambda *step: seen.append(step))
    assert seen == [("studies", 0, 3), ("studies", 1, 3), ("studies", 2, 3), ("studies", 3, 3)]
    assert (found["simulated"], found["studies"], found["raters"], found["measure"], found["system"]) == (
        *(True, 3, 3, "static", "fine"),
    )
    assert found == {
        **found,
        "without a rater left": 0,
        "value": pytest.approx(found["value"]),
        "left out": {k: v for k, v in found["left out"].items() if k in ("careful", "random")},
    }
    assert found["value"] == pytest.approx(sum(lines_of_all(path, options)) / 3)
    assert found["left out"]["careful"]["raters"] == 6 and found["left out"]["random"]["raters"] == 3
    assert found["power"] == pytest.approx(steps.power(path)[0].power(0.5))
    again = steps.simulate(path, options=options)
    assert again == found and steps.simulate(path, options=replace(options, seed=5)) != found


def lines_of_all(path, options):
    """The target's share of each simulated study, over items of every kind."""
    plan, design, _ = steps.load(path)
    world = steps.raters.World(options.effect, plan.power.rater, plan.power.item, options.bias)
    for k in range(options.studies):
        answers, _ = steps.raters.simulate(plan, design, steps.read_mix(options.mix), world, options.seed + k)
        lines = find_results(answers).lines
        yield next(x.estimate.value for x in lines if (x.measure, x.system, x.kind) == ("static", "fine", ""))


def test_an_answer_at_no_place_is_named(desk):
    with pytest.raises(ValueError, match="an answer at place 99 of rater 0"):
        desk.store.check_answer(0, 99, json.dumps(GOOD))
    assert desk.store.check_answer(0, 0, json.dumps(GOOD)) == GOOD


def test_a_study_in_which_nobody_is_left(tmp_path):
    path = make_plan(tmp_path, count=4, questions=4, checks=3, exclude={"hurried": 0.0}, shortest=600.0)
    found = steps.simulate(path, options=steps.SimulateOptions(studies=2))
    assert (found["without a rater left"], found["value"], found["found"], found["left out"]) == (2, None, 0.0, {})


def test_a_simulated_study_on_disk(tmp_path):
    path = make_plan(tmp_path, count=4, questions=4)
    out = tmp_path / "made"
    steps.simulate(path, options=steps.SimulateOptions(studies=1, out=out))
    with Store(out) as store:
        assert store.simulated is True and len(store.answers()) == len(store.slots())
        assert store.answers()[0].at > store.created and all(r.seconds > 0 for r in store.answers())
    assert steps.results(out).simulated
    with pytest.raises(InputError, match="exists already; a study is made once; choose another --out"):
        steps.simulate(path, options=steps.SimulateOptions(studies=1, out=out))


def test_a_clip_that_is_gone_is_named_before_serving(tmp_path):
    study, _ = make_study(tmp_path, count=2, questions=2)
    (tmp_path / "clips" / "one.mp4").unlink()
    with Store(study) as store, pytest.raises(InputError, match=r"the clip .*put it back, or make the study anew"):
        steps.check_clips(store)


def test_serving_needs_the_extra(monkeypatch, made):
    import builtins

    real = builtins.__import__

    def fail(name, *rest, **more):
        if name == "fabula.studies.server":
            raise ImportError
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", fail)
    with pytest.raises(MissingExtra, match="fabula study serve"):
        steps.serve(made[0])


def test_what_is_printed_when_it_can_be_reached(monkeypatch, made):
    told = []
    monkeypatch.setattr(steps, "run", lambda app, bound: bound.close())
    steps.serve(made[0], Binding(port=0), lambda address, store: told.append((address, store.id)))
    ((address, _),) = told
    assert address.startswith("http://127.0.0.1:") and address.rpartition(":")[2].isdigit()


def test_answers_of_a_copy_are_added(desk, tmp_path):
    desk.agree(0)
    watch(desk, 0)
    desk.answer(0, 0, "0" * 32, GOOD)
    folder = Path(desk.store.path).parent
    steps.backup(folder, tmp_path / "early.sqlite")
    watch(desk, 1)
    desk.answer(0, 1, "1" * 32, GOOD)
    desk.store.clock.now += 100
    desk.answer(0, 0, "2" * 32, {**GOOD, "static": 2})
    with Store(tmp_path / "early.sqlite") as early, Store(folder) as late:
        few, many = Answers.of(early), Answers.of(late)
    more = steps.add_answers(few, folder)
    assert [g.slot.place for g in more.by_rater[0]] == [0, 1] and more.rows == 3
    assert more.by_rater[0][0].answer["static"] == 2  # the later row
    assert steps.add_answers(many, tmp_path / "early.sqlite").by_rater[0][0].answer["static"] == 2
