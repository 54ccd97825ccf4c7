"""Rows of the page from values made by hand: images, items, blanks, graphs; and what a plot is made of."""

from __future__ import annotations

import base64
import gzip
import json
from math import nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fabula.core.errors import InputError, SpecError
from fabula.data.result import Result, Score
from fabula.data.stories import Corpus, Event, Segment, Story
from fabula.report import _data, _graphs, _images, html, links, pages, plotted
from fabula.report._images import list_claim, list_images, round_pixels
from fabula.report.drawing.plots import Interval
from fabula.report.plotted import choose_column, find_score, list_thresholds, make_curves, make_intervals, name_systems

# images


def claim(**more: Any) -> Any:
    return SimpleNamespace(
        **{"box": (0.04, 1.0, 2.55, 3.0), "caption": "a dog", "score": 1 / 3, "reference": 2, "iou": 0.123456}
        | {"first": True, "meteor": 0.98765}
        | more
    )


def test_pixels_have_one_digit_and_whole_ones_none():
    assert [round_pixels(v) for v in (0.04, 1.0, 2.55, 2.56, 10.96)] == [0, 1, 2.5, 2.6, 11]
    assert all(type(v) is int for v in (round_pixels(0.04), round_pixels(3.0))) and type(round_pixels(2.56)) is float
    assert list_claim(claim()) == [[0, 1, 2.5, 3], "a dog", 0.33333, 2, 0.1235, 1, 0.9877]
    assert list_claim(claim(first=False, meteor=None, score=nan))[2:] == [None, 2, 0.1235, 0, None]


class Described:
    def __init__(self, **refs: Any) -> None:
        self.refs = refs

    def judge(self, result: Any, judge: str, id: str) -> Any:
        assert judge == "mAP"
        return [SimpleNamespace(box=(0.0, 0.5, 1.0, 2.0), captions=("x", "y"))], [claim()] if id == "b" else []


def test_rows_of_images(monkeypatch):
    values = {"mAP": ("value", {"a": 0.75, "b": 0.25}), "none": ("value", {})}
    monkeypatch.setattr(_images, "read_values", lambda result: values)
    scores = {name: Score(name, {"value": 0.5}, "value", "s") for name in values}
    picture = SimpleNamespace(size=(640.0, 480.55)), SimpleNamespace(size=None)
    metric = SimpleNamespace(ious=(0.5, 0.3))
    result = SimpleNamespace(kept=Described(a=picture[0], b=picture[1]), scores=scores, metrics={"mAP": metric})
    found = list_images([result], ["sys"])
    assert found == {
        **{"kind": "images", "systems": ["sys"], "metrics": [["mAP", "value", 100.0], ["none", "value", 100.0]]},
        **{"lead": 0, "low": 0.5, "least": 0.3, "judge": "mAP"},
        "rows": [
            ["b", [[0.25, None]], None, [[[0, 0.5, 1, 2], ["x", "y"]]], [[list_claim(claim())]]],
            ["a", [[0.75, None]], [640, 480.6], [[[0, 0.5, 1, 2], ["x", "y"]]], [[]]],
        ],
    }


# numbers and names


def test_data_are_packed_the_same_every_time():
    packed = _data.pack_data({"a": ["é", 1]})
    assert packed == _data.pack_data({"a": ["é", 1]})
    assert gzip.decompress(base64.b64decode(packed)).decode() == '{"a":["é",1]}'
    with pytest.raises(ValueError, match="JSON"):
        _data.pack_data({"a": nan})


def test_rows_are_sorted_worst_first_and_what_was_not_scored_last():
    rows = [["a", [[None, 0.5]]], ["b", [[0.1, None]]], ["c", [[0.2, 0.0]]], ["d", [[0.3, 0.5]]]]
    assert _data.sort_worst_first(rows, ["x", "SODA_c"]) == 1 and [r[0] for r in rows] == ["c", "a", "d", "b"]
    assert _data.sort_worst_first(rows, ["x", "y"]) == 0 and [r[0] for r in rows] == ["b", "c", "d", "a"]
    assert _data.sort_worst_first(rows, ["x", "SODA_c"], lambda row: -ord(row[0])) == 1 and [r[0] for r in rows] == [
        "c",
        "d",
        "a",
        "b",
    ]
    assert _data.sort_worst_first(rows, []) == 0 and _data.sort_worst_first([], ["METEOR", "SODA_d"]) == 1


def test_names_and_numbers():
    assert _data.tell_apart(["a", "b", "a", "a"]) == ["a", "b", "a (2)", "a (3)"]
    assert _data.name_corpus(None, "x") == "x" and _data.name_corpus(Corpus({}, "/p/good.json"), "x") == "good"
    assert _data.name_corpus(Corpus({}, ""), "x") == "x"
    assert _data.round_number(1 / 3) == 0.33333 and _data.round_number(None) is None is _data.round_number(nan)
    values = {"m": ("f1", {"a": 0.123456789})}
    assert _data.list_numbers("a", ["m", "n"], values) == [0.12346, None] and _data.list_numbers(
        "b", ["m"], values
    ) == [None]


def test_blanks_of_a_set():
    kept = SimpleNamespace(sets={"s": 1}, judge=lambda result, judge, id: [(0, "P1", "P2", 1, 2)])
    result = SimpleNamespace(kept=kept)
    assert (
        _data.list_blanks(result, "j", "s") == [[0, "P1", "P2", 1, 2]] and _data.list_blanks(result, "j", "t") is None
    )


# graphs


def graphs(value: float = 0.123456789) -> Any:
    return SimpleNamespace(value=value, candidate=[(("dog",), 1)], reference=[(("dog", "run"), 0), (("cat",), 2)])


LISTED = [0.12346, [[1, "dog"]], [[0, "dog", "run"], [2, "cat"]]]


class Metric:
    draws = "graphs"

    def graphs(self, asked: Any) -> list[Any]:
        self.asked = list(asked)
        return [graphs() for _ in self.asked]

    def parsed_captions(self, story: Story, predicted: bool) -> list[str]:
        return [f"{'p' if predicted else 'r'} {e.caption}" for e in story.events]


def result_of(metric: Any, **more: Any) -> Any:
    return SimpleNamespace(metrics={"SPICE": metric, "other": SimpleNamespace(draws="")}, read={}, **more)


def test_graphs_of_items(monkeypatch):
    assert _graphs.list_tuples(graphs()) == LISTED
    items = tuple(SimpleNamespace(id=k) for k in "abc")
    metric = Metric()
    result = result_of(metric, items=items)
    rows = [["a", [], ["x"], ("r",)], ["b", [], [None], ("r",)], ["c", [], ["y"], ()]]
    assert _graphs.add_item_graphs([result], rows) == ["SPICE"]
    assert [row[-1] for row in rows] == [[[LISTED]], [None], [None]] and metric.asked == [items[0]]
    monkeypatch.setattr(_graphs, "GRAPHED", 1)
    rows = [["c", [], ["y"], ("r",)], ["a", [], ["x"], ("r",)]]
    _graphs.add_item_graphs([result], rows)
    assert [row[-1] for row in rows] == [[[LISTED]], [None]]
    result.read = {"SPICE": [SimpleNamespace(id="c")]}
    assert _graphs.draw_items(result, "SPICE", ["c"]) == [LISTED] and metric.asked == result.read["SPICE"]
    plain = SimpleNamespace(metrics={"m": SimpleNamespace(draws="")})
    assert _graphs.add_item_graphs([plain], [["a"]]) == [] == _graphs.add_story_graphs([plain], [["a"]])


def test_graphs_of_stories(monkeypatch):
    told = Story("v", [Event(Segment(5, 9), "late"), Event(Segment(0, 4), "early")], 10.0)
    gold = Story("v", [Event(Segment(0, 4), "gold")], 10.0)
    metric = Metric()
    result = result_of(metric, predictions={"v": told}, refs=[{"v": gold}])
    pairs = [[0, 1, 0.5, 0.5]]
    rows: list[Any] = [["v", [], 10, [], [([], [pairs])]], ["w", [], 10, [], [None]]]
    assert _graphs.add_story_graphs([result], rows) == ["SPICE"]
    assert rows[0][5] == [[[[LISTED]]]] and rows[1][5] == [None]
    assert metric.asked == [("p late", "r gold")]  # the second on the page is the first of the file
    monkeypatch.setattr(_graphs, "GRAPHED", 0)
    rows = [["v", [], 10, [], [([], [pairs])]]]
    _graphs.add_story_graphs([result], rows)
    assert rows[0][5] == [[[None]]]


# pages


def test_what_a_page_cannot_show():
    def result(task: str = "dense", **more: Any) -> Any:
        return SimpleNamespace(**{"predictions": None, "items": (), "kept": None, "task": task} | more)

    for fine in ({"predictions": 1}, {"items": (1,)}, {"kept": 1}):
        pages.check_page(result(**fine))
    for task in ("dense", "procedure"):
        with pytest.raises(SpecError, match="these were streamed; write --rows instead"):
            pages.check_page(result(task))
    with pytest.raises(SpecError, match="this result of the task moments has no rows to draw; write --rows"):
        pages.check_page(result("moments"))


def test_the_title_and_the_links_of_a_page(monkeypatch, tmp_path):
    made = []
    monkeypatch.setattr(html, "page", lambda first, title, **more: made.append((first, title, more)))
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    pages.make_page([1], paths[:1])
    pages.make_page(
        [1, 2], paths, beside=pages.Beside({"v": tmp_path / "my film.mp4"}, ("n",)), folder=tmp_path / "out"
    )
    pages.make_page([1], paths[:1], "T")
    assert made[0] == (1, "a.json", {"other": None, "names": ["a"], "media": {}, "notes": ()})
    assert made[1] == (
        1,
        "a.json and b.json",
        {"other": 2, "names": ["a", "b"], "media": {"v": "../my%20film.mp4"}, "notes": ("n",)},
    )
    assert (
        made[2][1] == "T"
        and links.link_file(None, tmp_path) is None
        and links.link_file(tmp_path / "x y", tmp_path) == "x%20y"
    )


def test_which_rows_a_result_has(monkeypatch):
    from fabula.evaluate.kept import Answers, Described, Filled

    monkeypatch.setattr(html, "list_queries", lambda results, systems: "queries")
    monkeypatch.setattr(html, "list_images", lambda results, systems: "images")
    monkeypatch.setattr(html._data, "list_items", lambda results, systems: "items")
    monkeypatch.setattr(html._data, "list_stories", lambda results, systems: "stories")

    def rows(kept: Any = None, items: Any = (), refs: Any = (), predictions: Any = None) -> Any:
        return html.list_rows([SimpleNamespace(kept=kept, items=items, refs=refs, predictions=predictions)], [])

    assert rows(object.__new__(Answers)) == "queries" and rows(object.__new__(Described)) == "images"
    assert rows(object.__new__(Filled)) == "items" == rows(items=(1,)) and rows(refs=(1,), predictions={}) == "stories"
    assert rows() is None is rows(refs=(1,)) and rows(predictions={}) is None


def test_the_policy_of_a_page():
    result = Result("9", "dense", "default", {"m": Score("m", {"value": 0.5}, "value", "s")}, {})
    assert "media-src" not in html.page(result, "T") and "no warnings" in html.page(result, "T")
    assert "media-src 'self' file:; img-src 'self' file:" in html.page(result, "T", media={"v": "x"})
    two = Result("9", "dense", "default", result.scores, {}, ("a", "b"))
    assert "2 warnings" in html.page(two, "T") and "1 warning<" in html.page(
        Result("9", "dense", "default", result.scores, {}, ("a",)), "T"
    )
    assert html.show_signature("a|b,c<") == "a|<wbr>b,<wbr>c&lt;" and html.escape_text("\ud800<") == "?&lt;"
    assert html.draw_explorer(None, ()).startswith('<p class="meta">This result was saved without its videos')
    assert html.draw_script(None, "x") == "" and html.draw_warnings(()) == '<p class="meta">No warnings.</p>'


# plots


def score(**more: Any) -> Score:
    return Score(**{"name": "m", "values": {"f1": 0.5, "precision": 0.25}, "primary": "f1", "signature": "s"} | more)


def result_with(**scores: Score) -> Result:
    return Result("9", "dense", "default", scores, {})


def test_names_of_systems():
    assert name_systems(["/x/a.rows.jsonl", "b.json", "y/a.csv"], ()) == ["a", "b", "a (2)"]
    assert name_systems([result_with(), result_with()], ()) == ["system 1", "system 2"] and name_systems(
        ["a"], ["x"]
    ) == ["x"]
    with pytest.raises(SpecError, match="2 names for 1 systems; give --names one for each"):
        name_systems(["a"], ["x", "y"])


def test_columns_of_a_scatter():
    a = {key: {} for key in ("mIoU", "SODA_c.f1", "SODA_c.precision", "z.a", "z.b")}
    assert choose_column(None, a, a, ["x", "y"]) == "SODA_c.f1" and choose_column("mIoU", a, a, ["x", "y"]) == "mIoU"
    assert (
        choose_column("SODA_c.precision", a, a, ["x", "y"]) == "SODA_c.precision"
        and choose_column("SODA_c", a, a, ["x", "y"]) == "SODA_c.f1"
    )
    assert choose_column(None, {"z.a": {}}, {"z.a": {}}, ["x", "y"]) == "z.a"
    with pytest.raises(SpecError, match=r"z has z.a, z.b; name one of them with --metrics"):
        choose_column("z", a, a, ["x", "y"])
    with pytest.raises(SpecError, match="no column is called 'mIou'; did you mean 'mIoU'"):
        choose_column("mIou", a, a, ["x", "y"])
    with pytest.raises(InputError, match="the two share no column of numbers; score both with one command"):
        choose_column(None, a, {"q": {}}, ["x", "y"])
    assert (
        plotted.scale_of("CIDEr.value") == plotted.metrics.metric("CIDEr").scale
        and plotted.scale_of("nothing") == 100.0
    )
    assert plotted.primary_of("SODA_c") == "f1" and plotted.primary_of("nothing") == "value"


def test_thresholds_of_a_score():
    level = {"0.5": {"f1": 0.25, "precision": 0.5}, "0.3": {"f1": 0.75}, "0.9": {"f1": nan}}
    assert list_thresholds(score(by_threshold=level), None) == [(0.3, 0.75), (0.5, 0.25)]
    assert list_thresholds(score(by_threshold=level), "precision") == []
    assert list_thresholds(score(by_threshold={"1": {"value": 2.0}, "2": {"value": 3.0}}), None) == [
        (1.0, 2.0),
        (2.0, 3.0),
    ]
    named = score(values={"r1@0.5": 0.5, "r1@0.3": 0.75, "r5@0.5": 1.0, "mean": 0.1}, primary="r1@0.5")
    assert (
        list_thresholds(named, None) == [(0.3, 0.75), (0.5, 0.5)] == list_thresholds(named, "r1")
        and list_thresholds(named, "r5@0.5") == []
    )


def test_lines_of_a_plot():
    level = {"0.5": {"f1": 0.25}, "0.3": {"f1": 0.75}}
    seconds = {"1": {"f1": 0.5}, "2": {"f1": 0.25}}
    one, two = (
        result_with(a=score(by_threshold=level), METEOR=score(by_threshold=seconds), c=score()),
        result_with(a=score(by_threshold=level)),
    )
    plot = make_curves({"x": one}, [])
    assert (plot.y, plot.x) == ("METEOR", "seconds") and plot.lines == {"x": [(1.0, 50.0), (2.0, 25.0)]}
    plot = make_curves({"x": one, "y": two}, ["a"])
    assert list(plot.lines) == ["x", "y"] and plot.x == "tIoU threshold" and plot.y == "a"
    assert (
        list(make_curves({"x": one}, ["a", "METEOR"]).lines) == ["a", "METEOR"]
        and make_curves({"x": one}, ["a", "METEOR"]).y == "score"
    )
    assert list(make_curves({"x": one, "y": one}, ["a", "METEOR"]).lines) == ["x, a", "x, METEOR", "y, a", "y, METEOR"]
    with pytest.raises(
        SpecError, match=r"c of x has no numbers at several thresholds; those of \['a', 'METEOR'\] have"
    ):
        make_curves({"x": one}, ["c"])
    with pytest.raises(SpecError, match="no metric of the result has several thresholds"):
        make_curves({"x": result_with(c=score())}, [])


def test_strips_of_a_plot():
    one = result_with(a=score(ci={"f1": (0.4, 0.6)}), b=score(scale=1.0))
    two = result_with(a=score())
    assert make_intervals({"x": one, "y": two}, []).metrics == {
        "a": [Interval("x", 50.0, 40.0, 60.0), Interval("y", 50.0, None, None)]
    }
    assert make_intervals({"x": one}, ["a.precision", "a"]).metrics["a.precision"] == [Interval("x", 25.0, None, None)]
    with pytest.raises(SpecError, match="none of these results has intervals; score with --ci --json"):
        make_intervals({"y": two}, [])
    with pytest.raises(SpecError, match="the results have no metric in common"):
        make_intervals({"x": result_with(q=score()), "y": two}, [])
    with pytest.raises(SpecError, match="a of x is the mean of nothing; leave it out with --metrics"):
        make_intervals({"x": result_with(a=score(values={"f1": nan}, ci={"f1": (0, 1)}))}, [])


def test_a_number_by_its_name():
    named = score(values={"r1@0.5": 0.5}, primary="r1@0.5")
    one = result_with(a=score(), VCMR=named)
    assert (
        find_score(one, "a", "x") == (one.scores["a"], None) and find_score(one, "a.precision", "x")[1] == "precision"
    )
    assert find_score(one, "VCMR.r1@0.5", "x") == (named, "r1@0.5")
    for wrong in ("a.recall", "b", "VCMR.r1@0.7"):
        with pytest.raises(SpecError, match="x has no '"):
            find_score(one, wrong, "x")


def test_a_scatter_of_two(tmp_path):
    for name, rows in {"a": {"v": 0.5, "w": 0.25, "x": 1.0}, "b": {"w": 0.5, "v": 0.25, "y": 1.0}}.items():
        (tmp_path / f"{name}.jsonl").write_text(
            "".join(json.dumps({"video": v, "refset": 0, "mIoU": x}) + "\n" for v, x in rows.items())
        )
    plot = plotted.make_scatter([tmp_path / "a.jsonl", tmp_path / "b.jsonl"], ["A", "B"], [])
    assert (plot.metric, plot.systems, plot.points, plot.above, plot.below, plot.equal, plot.unit) == (
        *("mIoU", ("A", "B"), [(50.0, 25.0), (25.0, 50.0)], 1, 1, 0, "video"),
    )
    with pytest.raises(SpecError, match="a scatter compares two systems, 3 are named"):
        plotted.make_scatter([Path("a")] * 3, ["A"] * 3, [])
    with pytest.raises(SpecError, match="a scatter shows one metric; name one with --metrics"):
        plotted.make_scatter([Path("a")] * 2, ["A"] * 2, ["x", "y"])
