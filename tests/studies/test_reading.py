"""Items and clips line by line: what is read, each refusal with its place, both sides of every bound."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabula.core.errors import InputError, SpecError
from fabula.studies import items as module
from fabula.studies import steps
from fabula.studies.forms import make_form
from fabula.studies.items import (
    Item,
    check_expect,
    clock,
    dump,
    find_clip,
    find_clips,
    read_gold,
    read_items,
    read_span,
)
from fabula.studies.plan import Plan

LINE = {"id": "i", "video": "v", "time": [1, 2.5], "descriptions": {"a": " one ", "b": "two"}}


def write_lines(path: Path, *lines: object) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def read(folder: Path, source: str, *lines: object) -> list[Item]:
    write_lines(folder / "x.jsonl", *lines)
    return read_items(Plan(title="t", **{source: "x.jsonl"}), folder)


def test_lines_of_items(tmp_path):
    assert read(tmp_path, "items", LINE, {**LINE, "id": 7, "kind": "static", "time": None, "duration": 4}) == [
        Item("i", "v", 1.0, 2.5, {"a": "one", "b": "two"}, "", None),
        Item("7", "v", 0.0, 4.0, {"a": "one", "b": "two"}, "static", None),
    ]
    named = read(tmp_path, "items", {k: v for k, v in LINE.items() if k != "id"}, {**LINE, "expect": {"static": "a"}})
    assert [(i.id, i.expect) for i in named] == [("1", None), ("i", {"static": "a"})]


def test_lines_of_a_benchmark(tmp_path):
    line = {"desc_id": 3, "video": "v", "time": [0, 2], "cog_desc": "dog", "fig_desc": "a brown dog"}
    assert read(tmp_path, "benchmark", line, {**line, "desc_id": 4, "branch": "static", "kind": "x"}) == [
        Item("3", "v", 0.0, 2.0, {"coarse": "dog", "fine": "a brown dog"}, ""),
        Item("4", "v", 0.0, 2.0, {"coarse": "dog", "fine": "a brown dog"}, "static"),
    ]
    assert read(tmp_path, "benchmark", {**line, "kind": "dynamic"})[0].kind == "dynamic"


@pytest.mark.parametrize(
    ("source", "change", "told"),
    [
        ("items", {"id": ""}, "is no id"),
        ("items", {"id": None}, "is no id"),
        ("items", {"id": True}, "is no id"),
        ("items", {"id": 1.5}, "is no id; an id is text or a whole number"),
        ("items", {"descriptions": {}}, "descriptions: saw {}"),
        ("items", {"descriptions": ["a"]}, "descriptions: saw ['a']"),
        ("items", {"descriptions": {"a": ""}}, "descriptions: saw ''; a description is text"),
        ("items", {"descriptions": {"a": 3}}, "descriptions: saw 3"),
        (
            "items",
            {"descriptions": {"a": "x" * 20_001}},
            "a description has 20,001 characters; at most 20,000 are shown",
        ),
        ("items", {"expect": [1]}, "expect: saw [1]"),
        ("items", {"video": ""}, "video: saw ''; it names a file"),
        ("items", {"video": "a\0b"}, "video: saw"),
        ("items", {"video": "/v"}, "video '/v' leads out of the clips' folder; name a file in it"),
        ("items", {"video": "a/../b"}, "leads out of the clips' folder"),
        ("items", {"video": "a\\b"}, "leads out of the clips' folder"),
        ("items", {"time": [2, 1]}, "time: saw [2, 1]; it is [start, end] in seconds"),
        ("items", {"time": [1, 1]}, "time: saw [1, 1]"),
        ("items", {"time": [1, 2, 3]}, "time: saw [1, 2, 3]"),
        ("items", {"time": "1 2"}, "time: saw '1 2'"),
        ("items", {"time": [-1, 2]}, "time, duration: saw -1; they are seconds"),
        ("items", {"time": [0, 1e7]}, "time, duration: saw"),
        ("items", {"time": [0, "2"]}, "time, duration: saw '2'"),
        ("items", {"duration": True}, "time, duration: saw True"),
        ("benchmark", {"cog_desc": ""}, "cog_desc: saw ''"),
        ("benchmark", {"fig_desc": None}, "fig_desc: saw None"),
    ],
)
def test_lines_that_are_none(tmp_path, source, change, told):
    with pytest.raises(InputError) as error:
        read(tmp_path, source, {**LINE, "cog_desc": "x", "fig_desc": "y", **change})
    assert told in str(error.value) and str(tmp_path / "x.jsonl") in str(error.value)


def test_ids_stand_once_and_a_line_is_an_object(tmp_path):
    with pytest.raises(InputError, match="item 'i': stands twice; ids are unique"):
        read(tmp_path, "items", LINE, LINE)
    with pytest.raises(InputError, match=r"line 2: saw \[1\]; a line is an object"):
        read(tmp_path, "items", LINE, [1])
    with pytest.raises(InputError, match="holds no item"):
        read(tmp_path, "items")
    assert len(read(tmp_path, "items", {**LINE, "descriptions": {"a": "x" * 20_000}})) == 1


def test_spans():
    span = lambda **line: read_span(line, Path("x"), "i")  # noqa: E731
    assert span() == (0.0, 0.0) and span(duration=3) == (0.0, 3.0) and span(time=[0, 0.5], duration=9) == (0.0, 0.5)
    assert span(time=[0, 9999999]) == (0.0, 9999999.0)


def system(tmp_path: Path, name: str, *lines: dict[str, Any]) -> Path:
    return write_lines(
        tmp_path / name, *({"id": "i", "video": "v", "time": [0, 1], "caption": name} | line for line in lines)
    )


def test_a_file_a_system_tells_the_same_items(tmp_path):
    system(tmp_path, "a.jsonl", {}, {"id": "j", "kind": "k"})
    system(tmp_path, "b.jsonl", {"id": "j"}, {"caption": "other"})
    plan = Plan(title="t", systems={"A": "a.jsonl", "B": "b.jsonl"})
    assert read_items(plan, tmp_path) == [
        Item("i", "v", 0.0, 1.0, {"A": "a.jsonl", "B": "other"}, ""),
        Item("j", "v", 0.0, 1.0, {"A": "a.jsonl", "B": "b.jsonl"}, "k"),
    ]
    system(tmp_path, "b.jsonl", {})
    with pytest.raises(InputError, match=r"b.jsonl: item 'j': is told by A alone \(1 such items\)"):
        read_items(plan, tmp_path)
    system(tmp_path, "b.jsonl", {}, {"id": "j"}, {"id": "k"})
    with pytest.raises(
        InputError, match=r"item 'k': is told by B alone \(1 such items\); systems must describe the same"
    ):
        read_items(plan, tmp_path)
    system(tmp_path, "b.jsonl", {}, {"id": "j", "time": [0, 2]})
    with pytest.raises(InputError, match=r"item 'j': is another span than in a.jsonl; ids must mean the same clip"):
        read_items(plan, tmp_path)
    with pytest.raises(InputError, match=r"\[systems\] is empty"):
        module.read_systems({})


def test_a_story_too_long_for_a_page_is_refused_not_cut(tmp_path):
    def write(words):
        event = {"sentence": "a" * words, "timestamp": [0, 1]}
        (tmp_path / "a.json").write_text(json.dumps({"version": "", "results": {"v": [event]}, "external_data": {}}))
        return module.read_system(tmp_path / "a.json")

    longest = module.LONGEST - len(f"{clock(0)} to {clock(1)}  ")
    assert len(write(longest)["v"].descriptions[""]) == module.LONGEST
    with pytest.raises(InputError, match=r"item 'v': a description has 20,001 characters; at most 20,000 are shown"):
        write(longest + 1)


def test_captions_by_other_names(tmp_path):
    write_lines(tmp_path / "a.jsonl", {"desc_id": 5, "video": "v", "time": [0, 1], "fig_desc": "words"})
    (item,) = read_items(Plan(title="t", form="scale", systems={"A": "a.jsonl"}), tmp_path)
    assert (item.id, item.descriptions) == ("5", {"A": "words"})


def test_stories_are_told_by_the_clock(tmp_path):
    events = {"timestamps": [[0, 61.25], [61.25, 70]], "sentences": ["A dog.", "It runs."], "duration": 80}
    (tmp_path / "a.json").write_text(json.dumps({"v1": events}))
    (item,) = read_items(Plan(title="t", form="scale", systems={"A": "a.json"}), tmp_path)
    assert (item.id, item.video, item.start, item.end) == ("v1", "v1", 0.0, 80.0)
    assert item.descriptions == {"A": "0:00.0 to 1:01.2  A dog.\n1:01.2 to 1:10.0  It runs."}
    assert [clock(s) for s in (0, 59.94, 60, 3599.9)] == ["0:00.0", "0:59.9", "1:00.0", "59:59.9"]
    (tmp_path / "a.json").write_text(json.dumps({"v1": {**events, "sentences": ["", " "]}}))
    with pytest.raises(InputError, match="'v1': has no caption; a description needs words"):
        read_items(Plan(title="t", form="scale", systems={"A": "a.json"}), tmp_path)


@pytest.mark.parametrize(
    ("expect", "told"),
    [
        ({"better": "a"}, "expect.better: the form measures static, dynamic, accuracy"),
        ({"static": "c"}, "expect.static is 'c'; say a, b or neither"),
        ({"accuracy": "a"}, "expect.accuracy is 'a'; say {\"SYSTEM\": [lowest, highest]}"),
        ({"accuracy": {"c": [1, 2]}}, "expect.accuracy is {'c': [1, 2]}"),
        ({"accuracy": {"a": [1]}}, "expect.accuracy is {'a': [1]}"),
        ({"accuracy": {"a": (1, 2)}}, "expect.accuracy is"),
        ({"accuracy": {"a": [1, 2.5]}}, "expect.accuracy is {'a': [1, 2.5]}"),
        ({"accuracy": {"a": [1, 2], "b": 3}}, "expect.accuracy is"),
    ],
)
def test_what_gold_items_cannot_expect(expect, told):
    with pytest.raises(InputError) as error:
        check_expect(Item("i", "v", 0, 1, {}, expect=expect), Path("x"), ("a", "b"), make_form("richer"))
    assert told in str(error.value)


def test_gold_items(tmp_path):
    form, systems = make_form("richer"), ("a", "b")
    fine = {"static": "neither", "dynamic": "b", "accuracy": {"a": [1, 2], "b": [5, 5]}}
    write_lines(tmp_path / "g.jsonl", {**LINE, "expect": fine})
    plan = Plan(title="t", items="x", gold="g.jsonl")
    assert [i.expect for i in read_gold(plan, tmp_path, systems, form)] == [fine]
    assert read_gold(Plan(title="t", items="x"), tmp_path, systems, form) == []
    write_lines(tmp_path / "g.jsonl", LINE)
    with pytest.raises(InputError, match='has no "expect"; say what a careful rater answers'):
        read_gold(plan, tmp_path, systems, form)


# clips


@pytest.fixture
def clips(tmp_path, monkeypatch):
    """Files of ten seconds, whatever is in them."""
    for name in ("one.mp4", "two.WEBM", "three.avi", "four"):
        (tmp_path / name).write_bytes(b"\0\0\0\x18ftypisom" + bytes(64))
    monkeypatch.setattr(module, "look_into", lambda path: 10.0)
    return tmp_path


def item(video: str = "one", start: float = 0.0, end: float = 0.0) -> Item:
    return Item("i", video, start, end, {"a": "x"})


@pytest.mark.parametrize(
    ("start", "end", "found"),
    [(0, 0, 10.0), (0, 10, 10.0), (2, 5, 5), (9.9, 10.5, 10.0), (0, 11.0, 10.0), (3, 0, 10.0)],
)
def test_spans_end_with_the_clip(clips, start, end, found):
    (read,) = find_clips([item(start=start, end=end)], clips)
    assert (read.start, read.end, read.clip, read.length) == (start, found, "one.mp4", found - start)


@pytest.mark.parametrize(
    ("start", "end", "told"),
    [
        (10.0, 12.0, "begins at 10 s; the clip has 10.0 s"),
        (0.0, 11.01, "ends at 11.01 s; the clip has 10.0 s"),
    ],
)
def test_spans_beyond_the_clip(clips, start, end, told):
    with pytest.raises(InputError, match=told):
        find_clips([item(start=start, end=end)], clips)


def test_a_tenth_of_a_long_clip_is_rounding_too(clips, monkeypatch):
    monkeypatch.setattr(module, "look_into", lambda path: 100.0)
    assert find_clips([item(end=110.0)], clips)[0].end == 100.0
    monkeypatch.setattr(module, "look_into", lambda path: 2.0)
    assert find_clips([item(end=3.0)], clips)[0].end == 2.0
    with pytest.raises(InputError, match=r"ends at 3.1 s"):
        find_clips([item(end=3.1)], clips)


def test_where_nothing_can_look(clips, monkeypatch):
    monkeypatch.setattr(module, "look_into", lambda path: 0.0)
    assert find_clips([item(start=3, end=70)], clips)[0].end == 70
    with pytest.raises(InputError, match='its length is not known; say "time" or "duration" in its line'):
        find_clips([item()], clips)


def test_a_clip_is_looked_into_once(clips, monkeypatch):
    looked = []
    monkeypatch.setattr(module, "look_into", lambda path: looked.append(path.name) or 10.0)
    find_clips([item(), item(end=3), item("one.mp4")], clips)
    assert looked == ["one.mp4", "one.mp4"]  # by its two names


def test_files_of_clips(clips):
    assert find_clip(item("one.mp4"), clips).name == "one.mp4" == find_clip(item("one"), clips).name
    assert find_clip(item("two.WEBM"), clips).name == "two.WEBM"
    with pytest.raises(InputError, match=r"browsers do not play .avi; convert it to .mp4"):
        find_clip(item("three.avi"), clips)
    with pytest.raises(InputError, match="browsers do not play a file without an ending"):
        find_clip(item("four"), clips)
    with pytest.raises(
        InputError, match=r"item 'i': video 'five': no clip of it in .*; a file of that name is needed \(\.mp4"
    ):
        find_clip(item("five"), clips)


@pytest.mark.parametrize(
    ("codec", "played"), [("h264", True), ("libvpx-vp9", True), ("vp8", True), ("hevc", False), ("h26", False)]
)
def test_what_browsers_play(tmp_path, monkeypatch, codec, played):
    from contextlib import nullcontext
    from types import SimpleNamespace

    from fabula.media import decode

    container = SimpleNamespace(duration=2_500_000)
    stream = SimpleNamespace(codec_context=SimpleNamespace(name=codec))
    monkeypatch.setattr(decode, "import_av", lambda: SimpleNamespace(time_base=1_000_000))
    monkeypatch.setattr(decode, "name_faults", lambda av, path: nullcontext())
    monkeypatch.setattr(decode, "open_container", lambda av, path: nullcontext(container))
    monkeypatch.setattr(decode, "find_pictures", lambda av, container, path: stream)
    if played:
        assert module.look_into(tmp_path / "x.mp4") == 2.5
        container.duration = None
        assert module.look_into(tmp_path / "x.mp4") == 0.0
    else:
        with pytest.raises(
            InputError, match=f"its pictures are {codec}, which browsers do not play; convert it: ffmpeg"
        ):
            module.look_into(tmp_path / "x.mp4")


def test_items_are_written_whole():
    assert json.loads(dump([item(end=2.0)])) == [
        {
            "id": "i",
            "video": "one",
            "start": 0.0,
            "end": 2.0,
            "descriptions": {"a": "x"},
            "kind": "",
            "expect": None,
            "clip": "",
        }
    ]


# steps


@pytest.mark.parametrize(
    ("text", "mix"),
    [("careful=8, random = 2", {"careful": 8.0, "random": 2.0}), ("left", {"left": 1.0}), ("a=0.5", {"a": 0.5})],
)
def test_a_mix(text, mix):
    assert steps.read_mix(text) == mix


def test_no_mix():
    with pytest.raises(SpecError, match="--mix 'careful=x'; it looks like careful=8,random=2"):
        steps.read_mix("careful=x")


def test_options_of_a_simulation():
    options = steps.SimulateOptions()
    found = (options.mix, options.effect, options.bias, options.studies, options.seed, options.out)
    assert found == ("careful=1", 0.5, 0.4, 100, 0, None) and steps.PowerOptions().effect is None
    bounds = {o.name: (o.about.at_least, o.about.at_most) for o in steps.SimulateOptions.options()}
    assert bounds["studies"] == (1, 100_000)
    with pytest.raises(SpecError, match="choose one by the file's ending"):
        steps.write_ratings([], Path("x.txt"))
