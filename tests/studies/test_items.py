"""Where descriptions come from: VERIFIED's lines, a file a system, stories; and clips."""

from __future__ import annotations

import json

import pytest

from fabula.core.errors import InputError
from fabula.studies import steps as api
from fabula.studies.items import clock, read_items
from fabula.studies.plan import Plan
from tests.studies.made import film


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "clips").mkdir()
    for name in ("a", "b"):
        (tmp_path / "clips" / f"{name}.mp4").write_bytes(film(2.0))
    return tmp_path


def write(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def fig(n, **more):
    line = {
        "desc_id": n,
        "video": "ab"[n % 2],
        "duration": 2.0,
        "time": [0, 1.5],
        "cog_desc": f"c{n}",
        "fig_desc": f"f{n}",
    }
    return line | {"fig_desc_score": 1.0} | more


def test_a_benchmark_of_coarse_and_fine(folder):
    write(folder / "fig.jsonl", [fig(n, branch=("static", "dynamic")[n % 2]) for n in range(6)])
    items = read_items(Plan(title="t", benchmark="fig.jsonl"), folder)
    assert items[3].descriptions == {"coarse": "c3", "fine": "f3"} and items[3].kind == "dynamic"
    (folder / "PLAN.toml").write_text('title = "t"\nbenchmark = "fig.jsonl"\nclips = "clips"\nquestions = 6\n')
    _, design = api.new(folder / "PLAN.toml", out=folder / "study")
    assert design.systems == ("coarse", "fine") and design.raters == 3
    assert all(slot.item < 6 for slot in design.slots)
    write(folder / "fig.jsonl", [fig(0, fig_desc=None)])
    with pytest.raises(InputError, match=r"item 0|item '0'"):
        read_items(Plan(title="t", benchmark="fig.jsonl"), folder)


def test_a_file_a_system(folder):
    for name in ("one", "two"):
        write(
            folder / f"{name}.jsonl",
            [{"id": n, "video": "ab"[n % 2], "time": [0, 1], "caption": f"{name} {n}"} for n in range(4)],
        )
    plan = Plan(title="t", systems={"one": "one.jsonl", "two": "two.jsonl"})
    items = read_items(plan, folder)
    assert [i.descriptions for i in items][:2] == [{"one": "one 0", "two": "two 0"}, {"one": "one 1", "two": "two 1"}]
    write(folder / "two.jsonl", [{"id": n, "video": "a", "time": [0, 1], "caption": "x"} for n in range(3)])
    with pytest.raises(InputError, match=r"is told by one alone \(1 such items\)"):
        read_items(plan, folder)
    write(folder / "two.jsonl", [{"id": n, "video": "b", "time": [0, 1], "caption": "x"} for n in range(4)])
    with pytest.raises(InputError, match=r"is another span than in one\.jsonl"):
        read_items(plan, folder)


def test_stories_are_told_event_by_event(folder):
    for name in ("one", "two"):
        told = {
            v: [{"sentence": f"{name} {v}", "timestamp": [0, 1]}, {"sentence": "then", "timestamp": [1, 2]}]
            for v in "ab"
        }
        (folder / f"{name}.json").write_text(json.dumps({"results": told}))
    items = read_items(Plan(title="t", form="preference", systems={"one": "one.json", "two": "two.json"}), folder)
    assert [(i.video, i.start) for i in items] == [("a", 0.0), ("b", 0.0)]  # raters see the whole clip
    assert items[0].descriptions["one"] == "0:00.0 to 0:01.0  one a\n0:01.0 to 0:02.0  then"
    assert clock(75.25) == "1:15.2"


def test_clips_are_looked_into(folder):
    pytest.importorskip("av", reason="needs fabula[features]")
    plan = folder / "PLAN.toml"
    plan.write_text('title = "t"\nitems = "items.jsonl"\nclips = "clips"\nquestions = 2\n')

    def make(out, **more):
        lines = [{"id": n, "video": "a", "descriptions": {"x": "1", "y": "2"}, **more} for n in range(2)]
        write(folder / "items.jsonl", lines)
        return api.new(plan, out=folder / out)[1]

    assert make("whole").items[0].end == pytest.approx(2.0, abs=0.15)  # the file's own length
    assert make("rounded", time=[0.5, 2.6]).items[0].end == pytest.approx(2.0, abs=0.15)  # annotations are rounded
    with pytest.raises(InputError, match=r"ends at 9 s; the clip has 2\.0 s"):
        make("late", time=[0, 9])
    with pytest.raises(InputError, match="begins at 5 s"):
        make("after", time=[5, 6])
    (folder / "clips" / "a.mp4").write_bytes(b"words")
    with pytest.raises(InputError, match="cannot be read as a video"):
        make("words")
    (folder / "clips" / "a.mp4").unlink()
    (folder / "clips" / "a").write_bytes(b"")
    with pytest.raises(InputError, match="browsers do not play a file without an ending"):
        make("bare")
    assert not [p for p in folder.iterdir() if p.name in ("late", "after", "words", "bare")]
