"""A grid of settings: every cell asked, scored, and its share in the variance."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import fabula
from fabula.asking.grid import GridOptions, ask_grid, read_factors, set_levels
from fabula.asking.options import AskOptions
from fabula.core.errors import InputError, SpecError
from fabula.llm.fake import Server, serving
from fabula.media.coded.server import SeeingReply
from fabula.stats.factorial import analyse_variance
from tests.asking.toys import options

RECIPES = "frames=fabula/rate(fps=0.5),vllm/opencv(num_frames=3),vlmevalkit/base(nframe=3),fabula/even(n=3)"


def test_four_recipes_and_their_variance(shelf, tmp_path):
    server = Server(reply=SeeingReply())
    with serving(server):
        o = options(server.url, shelf.videos, out=tmp_path / "grid")
        done = ask_grid(shelf.bench, o, GridOptions(vary=(RECIPES,), resamples=200))
        calls = len(server.log)
        again = ask_grid(shelf.bench, o, GridOptions(vary=(RECIPES,), resamples=200))
        assert len(server.log) == calls == 4 * len(done.runs[0].bench.inquiries)
    assert again.lines() == done.lines()
    assert [cell.levels[0] for cell in done.cells] == RECIPES.removeprefix("frames=").split("),") or len(
        done.cells
    ) == 4
    assert done.cells[0].value == 1.0 and all(cell.value < 1.0 for cell in done.cells[1:])
    for cell in done.cells:
        assert fabula.score(cell.answers, shelf.bench, task="grounding")["Grounding"].value == cell.value
    assert len({cell.signature for cell in done.cells}) == 4
    # per video by hand: the share of its queries that are right
    table = np.array([[by_video(cell.answers, shelf)[f"film0{n}.mp4"] for n in range(3)] for cell in done.cells])
    expected = analyse_variance(table, ["frames"], resamples=10)
    assert done.variance.effects[0].ss == pytest.approx(expected.effects[0].ss)
    assert done.variance.videos == pytest.approx(expected.videos) and done.variance.total == pytest.approx(
        expected.total
    )
    text = "\n".join(done.lines())
    assert "videos × settings" in text and "100.0 %" in text and "settings make" in text
    document = json.loads((tmp_path / "grid" / "grid.json").read_text())
    assert document == done.to_dict() and len(document["cells"]) == 4
    replayed = AskOptions(replay=tmp_path / "grid" / "record.jsonl", out=tmp_path / "again", side=80)
    third = ask_grid(shelf.bench, replayed, GridOptions(vary=(RECIPES,), resamples=200))
    assert third.lines() == done.lines()
    for cell in done.cells:
        assert (tmp_path / "again" / cell.answers.name).read_bytes() == cell.answers.read_bytes()


def by_video(answers, shelf):
    result = fabula.score(answers, shelf.bench, task="grounding")
    rows, metric = result.rows["Grounding"], result.metrics["Grounding"]
    places: dict[str, list[int]] = {}
    for k, video in enumerate(rows.drawn):
        places.setdefault(video, []).append(k)
    return {video: metric.fold(rows.take(at))[metric.primary] for video, at in places.items()}


def test_factors_together(shelf, tmp_path):
    with serving(Server(reply=SeeingReply())) as server:
        o = options(server.url, shelf.videos, out=tmp_path / "grid", limit=9)
        done = ask_grid(shelf.bench, o, GridOptions(vary=("fps=0.5,0.1", "prompt=default,phrase"), resamples=50))
    assert [cell.levels for cell in done.cells] == [
        ("0.5", "default"),
        ("0.5", "phrase"),
        ("0.1", "default"),
        ("0.1", "phrase"),
    ]
    fps, prompt, both = done.variance.effects
    assert fps.share == 1.0 and prompt.ss == both.ss == 0  # the server does not look at the words
    assert all(cell.answered == 9 for cell in done.cells)


def test_what_a_grid_may_vary():
    assert read_factors(("frames=a(b=1,c=2),d", "side=64,80")) == {"frames": ("a(b=1,c=2)", "d"), "side": ("64", "80")}
    o = AskOptions(url="fake:")
    assert set_levels(o, {"side": "64", "temperature": "0.5", "layout": "listed"}) == replace(
        o, side=64, temperature=0.5, layout="listed"
    )
    assert "fps=3" in set_levels(o, {"fps": "3"}).frames
    for texts, problem in (
        (("frames",), "say NAME=LEVEL"),
        (("frames=a",), "makes 1 cells"),
        (("side=1,1",), "stands there twice"),
        (("side=1,2", "side=3,4"), "stands there twice"),
        (tuple(f"f{k}=1,2" for k in range(8)), "makes 256 cells"),
    ):
        with pytest.raises(SpecError, match=problem):
            read_factors(texts)
    with pytest.raises(SpecError, match="no such factor"):
        set_levels(o, {"fsp": "3"})
    with pytest.raises(SpecError, match="it is a number"):
        set_levels(o, {"side": "wide"})


def test_a_grid_has_a_folder_and_stops_with_its_budget(shelf, tmp_path):
    grid = GridOptions(vary=("side=64,80",), resamples=20)
    with serving(Server(reply=SeeingReply())) as server:
        o = options(server.url, shelf.videos)
        with pytest.raises(SpecError, match="name a folder"):
            ask_grid(shelf.bench, o, grid)
        (tmp_path / "file").write_text("")
        with pytest.raises((SpecError, InputError), match="is a file"):
            ask_grid(shelf.bench, replace(o, out=tmp_path / "file"), grid)
        done = ask_grid(shelf.bench, replace(o, out=tmp_path / "g", price=("1/1",), budget=0.0), grid)
    assert not done.finished and "budget" in done.stopped and done.variance is None and not done.cells
