"""Pages: links to files beside them, who comes first, margins of drawings, and what a figure says of its points."""

from __future__ import annotations

import base64
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import fabula.report.html as html
from fabula.report._data import LEADING, list_blanks, sort_worst_first
from fabula.report.captionsets import Look, ShownClip, ShownSet, captionset_page
from fabula.report.drawing.elements import RULE, Frame, Scale, widen
from fabula.report.drawing.plots import Interval, Intervals, draw_intervals
from fabula.report.pages import make_page


@pytest.mark.parametrize(("folder", "link"), [("pages", "../films/a%20b.mp4"), (".", "films/a%20b.mp4")])
def test_links_lead_from_the_page_to_the_film(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder, link):
    seen = {}
    monkeypatch.setattr(html, "page", lambda first, title, **more: seen.update(more, title=title) or "page")
    beside = SimpleNamespace(files={"v": tmp_path / "films" / "a b.mp4", "w": None}, notes=("one note",))
    paths = [tmp_path / "good.json", tmp_path / "other.json"]
    results = [SimpleNamespace(), SimpleNamespace()]
    assert make_page(results, paths, beside=beside, folder=tmp_path / folder) == "page"
    assert seen["media"] == {"v": link} and seen["notes"] == ("one note",)
    assert seen["title"] == "good.json and other.json" and seen["names"] == ["good", "other"]
    assert seen["other"] is results[1]


def test_without_a_place_links_lead_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    seen = {}
    monkeypatch.setattr(html, "page", lambda first, title, **more: seen.update(more) or "")
    beside = SimpleNamespace(files={"v": tmp_path / "a.mp4"}, notes=())
    make_page([SimpleNamespace()], [tmp_path / "x.json"], "A title", beside=beside)
    assert seen["media"] == {"v": "a.mp4"} and seen["other"] is None
    make_page([SimpleNamespace()], [tmp_path / "x.json"])
    assert seen["media"] == {} and seen["notes"] == ()


def test_the_worst_by_the_leading_metric_comes_first_and_what_has_no_number_last():
    names = ["zzz", LEADING[0]]
    rows = [["a", [[0.1, 0.9]]], ["b", [[0.9, None]]], ["c", [[0.5, 0.2]]], ["d", [[0.4, 0.2]]]]
    assert sort_worst_first(rows, names, then=lambda row: row[1][0][0]) == 1
    assert [row[0] for row in rows] == ["d", "c", "a", "b"]
    assert sort_worst_first([], []) == 0 and sort_worst_first([["a", [[1.0]]]], ["zzz"]) == 0


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ([0, 10], (-0.5, 10.5)),
        ([4, 4], (3.8, 4.2)),
        ([-4], (-4.2, -3.8)),
        ([0, 0], (-1, 1)),
        ([-10, 0], (-10.5, 0.5)),
        ([float("nan"), 1, 3], (0.9, 3.1)),
        ([float("inf")], (-0.05, 1.05)),
        ([], (-0.05, 1.05)),
    ],
)
def test_margins_are_a_twentieth_of_what_is_drawn(values, ends):
    assert widen(values) == pytest.approx(ends)


def test_a_figure_says_what_a_point_without_whiskers_is():
    known, lacking = Interval("a", 1.0, 0.5, 1.5), Interval("a", 1.0)
    assert "<desc" not in draw_intervals(Intervals({"m": [known]}, ["a"]), 240.0)
    assert "without --ci" in draw_intervals(Intervals({"m": [known], "n": [lacking]}, ["a"]), 240.0)


def test_a_frame_has_lines_behind_its_drawing_unless_it_shall_have_none():
    frame = Frame(Scale(0, 10, 0.0, 100.0), Scale(0, 10, 100.0, 0.0))
    lines = [part for part in frame.draw("x", "y") if RULE in part]
    assert len(lines) >= 4 and not [part for part in frame.draw("x", "y", grid=False) if RULE in part]


def test_the_blanks_of_a_set_and_of_one_that_has_none():
    kept = SimpleNamespace(sets={"a": 1}, judge=lambda result, judge, id: [(0, "P1", "P2", 1, 3)])
    assert list_blanks(SimpleNamespace(kept=kept), "m", "a") == [[0, "P1", "P2", 1, 3]]
    assert list_blanks(SimpleNamespace(kept=kept), "m", "b") is None


PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_captionsets_side_by_side(chromium: Any, tmp_path: Path, screenshots: Path) -> None:
    """Frames in the page, a box where there is none; no script, no fault, and no page wider than the window."""
    look = Look("blank 1, P1:", (("person 0 in clip 1", 0.75),))
    texts = ("P1 hugs P2.", "P2 hugs P2.", "P3 waits.")
    clips = [ShownClip(f"film-{k:04d}", PIXEL if k else None, *texts, (look,)) for k in range(5)]
    path = tmp_path / "sets.html"
    path.write_text(captionset_page([ShownSet("film-0000", tuple(clips))], "Captionsets", ["one clip has no frame"]))
    for width in (1280, 400):
        chromium.set_window_size(width, 900)
        chromium.get(path.as_uri())
        assert chromium.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        script = "return [...document.querySelectorAll('.still')].map((n) => n.naturalWidth ?? n.textContent)"
        assert chromium.execute_script(script) == ["film-0000", 1, 1, 1, 1]
        chromium.save_screenshot(str(screenshots / f"captionsets-{width}.png"))
    chromium.set_window_size(1280, 1000)
    chromium.execute_script("document.querySelector('.clips ol').focus()")  # a strip that is wider scrolls by keyboard
    assert chromium.execute_script("return document.activeElement.tagName") == "OL"
    assert chromium.get_log("browser") == []
