"""The store of a run, call by call: what it holds, counts, finds and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("httpx", reason="the extra llm is not installed")

from fabula.annotation import benchmark
from fabula.annotation.benchmark import ExportOptions, RunOptions
from fabula.annotation.keyframes import Videos
from fabula.annotation.moments import Moment, read_moments
from fabula.annotation.plan import list_failed, summarise
from fabula.annotation.recipe import RecipeOptions
from fabula.annotation.run import Batching, Work
from fabula.annotation.store import Store
from fabula.core.errors import InputError, SpecError
from fabula.llm import Answer, Call, EndpointOptions
from fabula.llm.answer import Attempt
from fabula.llm.batch import Sent
from tests.annotation.test_frozen import recipe_of
from tests.annotation.toys import make_moments, write_moments


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "s.sqlite", work=True) as opened:
        yield opened


def test_moments_are_added_once_and_must_stay_the_same(store):
    assert store.add_moments(make_moments(3)) == 3 and store.add_moments(make_moments(5)) == 5
    assert store.count_moments() == 5 == store.last_row() and list(store.moments()) == make_moments(5)
    assert [m.id for m in store.moments(after=1, until=3)] == [1, 2] and [m.id for m in store.moments(after=3)] == [
        3,
        4,
    ]
    with pytest.raises(InputError, match="is in the store with other words or times"):
        store.add_moments([Moment(1, "v1", 1.0, 6.5, "other words", 99.0)])


def test_outcomes_and_what_is_pending(store):
    moments = make_moments(4)
    store.add_moments(moments)
    chosen = {
        "chosen": {"text": "x", "score": 1.0, "branch": "static"},
        "candidates": [],
        "dropped": [],
        "calls": [],
        "audits": [],
    }
    store.put_outcome(moments[0].key, "r", "done", chosen)
    store.put_outcome(moments[1].key, "r", "failed", {"kind": "video", "message": "gone"})
    store.put_outcome(moments[2].key, "q", "done", chosen)
    assert (
        store.count_moments("r") == 2
        and [m.id for m in store.moments("r")] == [2, 3]
        and store.states("r") == {"done": 1, "failed": 1}
    )
    assert [m.id for m in store.without("r", moments)] == [2, 3] and store.count_moments("x") == 4
    assert [(m.id, state) for m, state, _ in store.outcomes("r")] == [(0, "done"), (1, "failed"), (2, None), (3, None)]
    assert (
        list_failed(store, "r") == [{"id": "1", "kind": "video", "message": "gone"}] and list_failed(store, "q") == []
    )
    assert store.forget_outcomes("r", ("failed",)) == 1 and store.states("r") == {"done": 1}


def test_recipes_by_their_first_letters(store):
    with pytest.raises(InputError, match="no recipe was run"):
        store.find_recipe(None)
    first, second = recipe_of(), recipe_of(seed=1)
    store.put_recipe(first.hash, first.to_dict())
    assert store.find_recipe(None) == first.hash == store.find_recipe(first.hash[:4]) and list(store.recipes()) == [
        first.hash
    ]
    store.put_recipe(second.hash, second.to_dict())
    with pytest.raises(InputError, match="2 recipes; there are: "):
        store.find_recipe(None)
    assert store.find_recipe(second.hash[:6]) == second.hash
    with pytest.raises(InputError, match="0 recipes 'zz'; there are: "):
        store.find_recipe("zz")


def test_answers_and_what_they_cost(store):
    one, two = Call("m", "one"), Call("m", "two")
    store.put(one, Answer("yes", "stop", 3, 4, 0.5), "judge", 0.25)
    store.note(Attempt(two.key, "busy", "later", 429, 0.1, 7, None), "rewrite", "m", 0.125)
    assert (
        store.get(one.key) == Answer("yes", "stop", 3, 4, 0.5) and store.get(two.key) is None and store.spent() == 0.375
    )
    found = summarise(store)
    assert found["steps"] == {
        "judge": {"calls": 1, "tokens_in": 3.0, "tokens_out": 4.0, "cost": 0.25, "seconds": 0.5, "uncounted": 0}
    }
    assert (
        found["failures"] == {"busy": {"tries": 1, "cost": 0.125, "uncounted": 0}}
        and found["cost"] == 0.375
        and found["uncounted"] == 0
    )
    assert (found["recipe"], found["states"], found["failed"], found["batches"]) == (None, {}, [], 0)


def test_frames_and_batches(store):
    frames = {"keys/8": [(0.5, "a"), (1.5, "b")], "even/2": [(2.5, "c")]}
    store.put_frames("k", frames)
    assert store.get_frames("k") == frames and store.get_frames("none") == {}
    store.put_batch(Sent("t", ("a", "b")))
    store.put_batch(Sent("t", ("a", "b"), "id"))
    store.put_batch(Sent("u", ("c",)))
    assert sorted(store.batches(), key=lambda s: s.tag) == [Sent("t", ("a", "b"), "id"), Sent("u", ("c",))]
    store.drop_batch("t")
    assert [s.tag for s in store.batches()] == ["u"]


def test_batches_that_were_not_fetched_stop_a_run(tmp_path):
    write_moments(tmp_path / "m.jsonl", 1)
    options = RunOptions(store=tmp_path / "s.sqlite")
    with Store(options.store, work=True) as store:
        store.put_batch(Sent("t", ("a",)))
        with pytest.raises(InputError, match="another run is using it; wait for it"):
            Store(options.store, work=True)
    with pytest.raises(InputError, match="1 batches were sent from this store and not fetched; continue with --batch"):
        benchmark.run(tmp_path / "m.jsonl", options=options, recipe=RecipeOptions(blind=True))
    ran = benchmark.run(
        tmp_path / "m.jsonl",
        options=RunOptions(store=options.store, forget_batches=True),
        recipe=RecipeOptions(blind=True),
    )
    assert ran.finished and ran.states == {"done": 1} and ran.left == 0 and ran.reason is None and ran.failed == 0


def test_a_benchmark_of_nothing(tmp_path):
    write_moments(tmp_path / "m.jsonl", 1)
    recipe = recipe_of()
    with Store(tmp_path / "s.sqlite", work=True) as store:
        store.add_moments(read_moments(tmp_path / "m.jsonl"))
        store.put_recipe(recipe.hash, recipe.to_dict())
    with pytest.raises(InputError, match="no moment is done; fabula annotate run comes first"):
        benchmark.export(ExportOptions(store=tmp_path / "s.sqlite", out=tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_numbers_of_a_batch_and_of_a_run(store):
    batching = Batching()
    assert (batching.moments, batching.pause, batching.longest) == (500, 30.0, 93_600.0)
    work = Work(store, recipe_of(), EndpointOptions(model="m", price=("1/2",)), budget=1.0)
    assert (work.answered, work.failed, work.reserved, work.spent, work.in_a_row, work.threads, work.stopped) == (
        0,
        0,
        0.0,
        0.0,
        0,
        0,
        None,
    )
    work.stop("first", SpecError("a"))
    work.stop("second", SpecError("b"))
    assert work.stopped == "first" and str(work.fault) == "a"


@pytest.mark.parametrize("name", ["/x", "../x", "a/../b", " ", "a\0b"])
def test_names_that_lead_out_of_the_folder(tmp_path, name):
    with pytest.raises(InputError, match="is no name of a file in it; fix the moments"):
        Videos(tmp_path).find(name)


def test_videos_by_their_names(tmp_path):
    (tmp_path / "a.mp4").write_bytes(b"x")
    (tmp_path / "b").write_bytes(b"x")
    videos = Videos(tmp_path)
    assert videos.find("a") == tmp_path / "a.mp4" == videos.find("a.mp4") and videos.find("b") == tmp_path / "b"
    with pytest.raises(InputError, match=r"no video of this name; its file is NAME.mp4"):
        videos.find("c")
    with pytest.raises(InputError, match="no such folder; --videos names the folder of the videos"):
        Videos(tmp_path / "none")


def test_other_files_of_moments(tmp_path):
    path: Path = tmp_path / "q.jsonl"
    line = {"qid": 1, "query": "a dog", "vid": "v", "duration": 9, "relevant_windows": [[1, 2], [3, 4]]}
    path.write_text(json.dumps(line | {"relevant_clip_ids": [0], "saliency_scores": [[1, 1, 1]]}) + "\n")
    assert list(read_moments(path)) == [Moment(1, "v", 1.0, 2.0, "a dog", 9.0)]


def test_a_record_is_of_one_process(tmp_path):
    write_moments(tmp_path / "m.jsonl", 1)
    options = RunOptions(store=tmp_path / "s.sqlite", engine="ray")
    endpoint = EndpointOptions(record=tmp_path / "record.jsonl")
    with pytest.raises(SpecError, match="--record writes one file, from one process; leave it out with --engine ray"):
        benchmark.run(tmp_path / "m.jsonl", options=options, endpoint=endpoint, recipe=RecipeOptions(blind=True))
    with pytest.raises(SpecError, match="--scorer-text is for --scorer noise:RUN"):
        RecipeOptions(scorer_text="x")
