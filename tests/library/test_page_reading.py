"""What the page's server reads of a request, and refuses: numbers, names, lengths, on both sides of their bounds."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

pytest.importorskip("fastapi", reason="the server needs fabula[web]")

from fastapi import HTTPException

from fabula.core.errors import InputError, SpecError
from fabula.library import calibrate, generations, queries
from fabula.library.embedders import rebuild
from fabula.library.embedders.colours import Embedder as Colours
from fabula.library.page import server
from fabula.library.store import Store, check_new
from fabula.web.binding import Binding
from tests.library.made import RECIPE, Axes, make_store


@pytest.mark.parametrize(("text", "count"), [(None, 20), ("", 20), ("1", 1), ("50", 50)])
def test_counts(text, count):
    assert server.read_count(text, 20, 50) == count


@pytest.mark.parametrize("text", ["0", "51", "-1", "1.5", "x", "٣", "0000001"])
def test_no_counts(text):
    with pytest.raises(HTTPException) as error:
        server.read_count(text, 20, 50)
    assert (error.value.status_code, error.value.detail) == (422, "limit is a whole number from 1 to 50")


@pytest.mark.parametrize(("text", "value"), [(None, None), ("", None), ("0", 0.0), ("2.5", 2.5), ("10", 10.0)])
def test_numbers(text, value):
    assert server.read_number(text, "it", 10) == value


@pytest.mark.parametrize("text", ["-0.1", "10.1", "nan", "inf", "x"])
def test_no_numbers(text):
    with pytest.raises(HTTPException) as error:
        server.read_number(text, "it", 10)
    assert (error.value.status_code, error.value.detail) == (422, "it is a number from 0 to 10")


def request(**lists):
    params = SimpleNamespace(getlist=lambda kind: lists.get(kind, []), get=lambda name: lists.get(name))
    return SimpleNamespace(query_params=params)


def test_where_a_search_looks():
    assert server.read_where(request()) == {"videos": None, "people": None, "length": None, "min_probability": None}
    found = server.read_where(
        request(video=["a", ""], person=["b"], min_length="2", max_length="2", min_probability="1")
    )
    assert found == {"videos": ("a",), "people": ("b",), "length": (2.0, 2.0), "min_probability": 1.0}
    assert server.read_where(request(max_length="3"))["length"] == (None, 3.0)
    assert len(server.read_where(request(video=["a"] * 20))["videos"]) == 20
    for wrong, told in [
        ({"video": ["a"] * 21}, "at most 20 videos and 20 people can be named"),
        ({"person": ["a" * (server.LETTERS + 1)]}, "at most 20 videos and 20 people can be named"),
        ({"min_length": "3", "max_length": "2"}, "the least length is more than the most"),
        ({"min_probability": "1.1"}, "min_probability is a number from 0 to 1"),
        ({"max_length": "1000001"}, "max_length is a number from 0 to 1e+06"),
    ]:
        with pytest.raises(HTTPException) as error:
            server.read_where(request(**wrong))
        assert (error.value.status_code, error.value.detail) == (422, told)


def test_who_needs_a_token():
    assert not server.needs_token(Binding()) and not server.needs_token(Binding(host="127.0.0.1"))
    with pytest.raises(ValueError, match="bound elsewhere without a token"):
        server.make_app(lambda: None, SimpleNamespace(origin="https://x", host="127.0.0.1"))
    assert server.needs_token(SimpleNamespace(origin=None, host="0.0.0.0"))


def test_recipes_that_name_no_embedder(tmp_path):
    recipe = Colours().recipe()
    assert rebuild(recipe) == Colours() and rebuild({**recipe, "size": 16, "clips": {}}).size == 16
    with pytest.raises(SpecError, match="this recipe names no embedder"):
        rebuild({"dims": 3})
    with pytest.raises(
        SpecError, match="the embedder colours has no setting 'more'; the store was made by another version"
    ):
        rebuild({**recipe, "more": 1})
    with pytest.raises(
        InputError, match="other weights than those the store of colours was made with; name the same file"
    ):
        rebuild({**recipe, "weights": {"a": "b"}})


def test_where_a_store_may_be_made(tmp_path):
    check_new(tmp_path / "new")
    (tmp_path / "empty").mkdir()
    check_new(tmp_path / "empty")
    make_store(tmp_path / "store", {"a.mp4": ["dog"]})
    with pytest.raises(InputError, match="is a store already"):
        check_new(tmp_path / "store")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x").write_text("x")
    with pytest.raises(
        InputError, match="is not empty and no store of clips: 'x' is in it; name another folder with --store"
    ):
        check_new(tmp_path / "other")
    store = Store.open(tmp_path / "store", RECIPE)
    with pytest.raises(InputError, match="no video of this store; its videos are named by"):
        store.path_of("b.mp4")
    with pytest.raises(InputError, match="is not there; fabula index ROOT --store DIR --moved says where they are now"):
        store.path_of("a.mp4")
    (tmp_path / "a.mp4").write_bytes(b"x")
    assert store.path_of("a.mp4") == (tmp_path / "a.mp4").resolve() and store.thumb(0) is None
    with pytest.raises(InputError, match="a store of the embedder axes, not of x"):
        Store.open(tmp_path / "store", {**RECIPE, "embedder": "x"})


def test_queries_that_cannot_calibrate(tmp_path):
    store = make_store(tmp_path / "store", {"a.mp4": ["dog", "cat"]})
    from fabula.library.find import Searcher

    searcher = Searcher(store, Axes())
    asked = [queries.LabelledQuery(1, "dog + cat", True)]
    with pytest.raises(InputError, match="is not one text; calibrate on plain texts"):
        queries.measure(searcher, asked, "q.jsonl")
    with pytest.raises(InputError, match='does not say if it has an answer; say "present": true or false'):
        queries.measure(searcher, [queries.LabelledQuery(1, "dog")], "q.jsonl")
    steps = []
    plain = [
        queries.LabelledQuery(1, "dog", True),
        queries.LabelledQuery(2, "whale", False),
        queries.LabelledQuery(3, "cat", False),
    ]
    sample, unknown = queries.measure(searcher, plain, "q.jsonl", lambda *step: steps.append(step))
    assert unknown == 1 and sample.present.tolist() == [True, False] and steps[-1] == ("queries", 3, 3)
    assert sample.score[0] == searcher.find("dog", 1).moments[0].score
    count, nothing = queries.answer_queries(searcher, plain, tmp_path / "out.jsonl", limit=1)
    assert (count, nothing) == (3, 1) and len((tmp_path / "out.jsonl").read_text().splitlines()) == 3


def test_a_calibration_is_tested_on_the_other_half_of_each_kind(tmp_path, monkeypatch):
    from fabula.library.find import Searcher

    store = make_store(tmp_path / "store", {"a.mp4": ["dog", "cat", "sea", "car"]})
    lines = [{"id": k, "text": "dog" if k % 3 else "tree man", "present": bool(k % 3)} for k in range(63)]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    fitted = []
    real = calibrate.fit
    monkeypatch.setattr(
        calibrate, "fit", lambda sample, recipe, seed: fitted.append(sample.present) or real(sample, recipe, seed)
    )
    found = queries.calibrate_store(Searcher(store, Axes()), tmp_path / "q.jsonl")
    assert (int(fitted[0].sum()), int((~fitted[0]).sum())) == (21, 10)  # of 42 and of 21
    assert found.held_out == 21 + 11 and found.unknown == 0 and (tmp_path / "store" / calibrate.FILE).is_file()
    about = found.calibration.about
    assert about["held out"]["queries"] == 32 and about["unknown"] == 0 and about["held out"]["ece"] == found.ece
    with pytest.raises(SpecError, match="a calibration is kept in the store's folder; calibrate a copy in a folder"):
        monkeypatch.setattr(store, "folder", None)
        queries.calibrate_store(Searcher(store, Axes(), calibration=found.calibration), tmp_path / "q.jsonl")


def test_tables_of_the_next_generation(tmp_path):
    store = make_store(tmp_path / "store", {"a.mp4": ["dog"]})
    warned = []
    first = generations.begin_anew(store, {**RECIPE, "x": 1}, None, warned.append)
    assert first.manifest.tables == {"clips": "clips_2", "videos": "videos_2"} and warned == []
    again = generations.begin_anew(store, {**RECIPE, "x": 1}, None, warned.append)
    assert again.manifest.tables == first.manifest.tables and warned == []
    other = generations.begin_anew(store, {**RECIPE, "x": 2}, "w", warned.append)
    assert other.manifest.tables == {"clips": "clips_3", "videos": "videos_3"} and other.manifest.weights == "w"
    assert warned == [f"{store.where}: the vectors computed with axes so far are discarded"]
    assert Store.open(tmp_path / "store").manifest.tables["clips"] == "clips"
    with pytest.raises(InputError, match="a store of axes, being made anew with axes; use --reembed to continue"):
        generations.check_current(Store.open(tmp_path / "store"), {**RECIPE, "x": 2})
    generations.take_over(other)
    now = Store.open(tmp_path / "store")
    assert now.manifest.tables == other.manifest.tables and now.manifest.next is None and now.recipe["x"] == 2
    assert sorted(generations.list_tables(now.where, now.base)) == ["clips_3", "videos_3"]
