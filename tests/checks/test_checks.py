"""Each check finds what it is for, and nothing in a sound file."""

from __future__ import annotations

import pytest

from fabula import checks as checks_room
from fabula.checks import Report, checks, examine, examine_items
from fabula.core.notes import Notes
from fabula.data.stories import Corpus, Event, Segment, Story

Told = list[tuple[float, float, str | None]]


def corpus(videos: dict[str, Told], duration: float | None = 100) -> Corpus:
    return Corpus(
        {v: Story(v, tuple(Event(Segment(a, b), c) for a, b, c in told), duration) for v, told in videos.items()}
    )


def found(report: Report) -> dict[str, list[str]]:
    return {f.check: [str(p) for p in f.places] for f in report.findings}


SOUND = corpus({"v_a": [(0, 40, "one"), (40.5, 90, "two")], "v_b": [(10, 60, "three")]})


def test_a_sound_file_has_no_findings() -> None:
    assert found(examine(SOUND)) == {}
    assert found(examine(SOUND, [SOUND])) == {}
    assert examine(SOUND).sound


@pytest.mark.parametrize(
    ("told", "check", "places"),
    [
        ([(20, 10, "a")], "reversed", ["'v' event 0 [20, 10]"]),
        ([(20, 20, "a")], "zero-length", ["'v' event 0 [20, 20]"]),
        ([(-1, 20, "a")], "negative", ["'v' event 0 [-1, 20]"]),
        ([(100, 120, "a")], "after-end", ["'v' event 0 [100, 120], the video lasts 100 s"]),
        ([(20, 120, "a")], "past-duration", ["'v' event 0 [20, 120], the video lasts 100 s"]),
        ([(1, 1.04, "a")], "one-frame", ["'v' event 0 [1, 1.04]"]),
        ([(0, 99.5, "a"), (1, 50, "b")], "whole-video", ["'v' event 0 [0, 99.5] of 100 s"]),
        ([(30, 40, "a"), (10, 20, "b")], "unsorted", ["'v' event 1 starts before event 0"]),
        ([(10, 40, "a"), (30, 50, "b")], "overlap", ["'v' event 1 overlaps event 0"]),
        ([(0, 60, "a"), (1, 2, "b"), (50, 70, "c")], "overlap", ["'v' event 1 overlaps event 0; 2 such"]),
        ([(10, 40, "a"), (10, 40, "a")], "duplicate-event", ["'v' event 1 [10, 40] as event 0"]),
        ([(10, 40, "a"), (10, 40, "b")], "duplicate-segment", ["'v' event 1 [10, 40] as event 0"]),
        ([], "no-events", ["'v'"]),
        ([(1, 5.5, "a")], "little-told", ["'v' 4.5% of 100 s"]),
        ([(0, 40, "a"), (50, 90, " ")], "empty-caption", ["'v' event 1 ' '"]),
        ([(0, 40, "a"), (50, 90, None)], "empty-caption", ["'v' event 1 no caption"]),
        ([(0, 40, "A man runs."), (50, 90, "a man  runs")], "repeated-sentence", ["'v' event 1 'a man  runs'"]),
        ([(0, 40, "crème brûlée")], "non-ascii", ["'v' event 0 'èûé'"]),
    ],
)
def test_events(told: Told, check: str, places: list[str]) -> None:
    assert found(examine(corpus({"v": told})))[check] == places


def test_a_segmentation_has_no_empty_captions() -> None:
    assert "empty-caption" not in found(examine(corpus({"v": [(0, 50, None), (50, 90, None)]})))


def test_one_sentence_everywhere() -> None:
    many = {f"v{i}": [(0.0, 50.0, "a man is seen" if i < 2 else f"a man is seen {i}")] for i in range(40)}
    assert found(examine(corpus(many)))["common-sentence"] == ["'a man is seen' is 2 of 40 captions (5.0%)"]
    many["v1"] = [(0.0, 50.0, "else")]
    assert "common-sentence" not in found(examine(corpus(many)))


UNITS = {  # what the numbers are → one video of 100 s
    "normalised": [(0, 0.3, "a"), (0.35, 0.6, "b"), (0.65, 0.98, "c")],
    "frames": [(0, 700, "a"), (750, 1500, "b"), (1510, 2400, "c")],
    "milliseconds": [(0, 30_000, "a"), (35_000, 60_000, "b"), (65_000, 98_000, "c")],
    "indices": [(0, 1, "a"), (1, 2, "b"), (2, 3, "c")],
}


@pytest.mark.parametrize("check", sorted(UNITS))
def test_other_units_than_seconds(check: str) -> None:
    told = found(examine(corpus({"v": UNITS[check]})))
    assert set(told) & {"hundredths", *UNITS} == {check}


def test_percent() -> None:
    videos = {f"v{i}": [(0.0, 50.0, "a"), (50.0, 99.0, "b")] for i in range(4)}
    assert "hundredths" in found(examine(corpus(videos, 300)))
    assert "hundredths" not in found(examine(corpus(videos, 100)))


def test_ids_against_references() -> None:
    preds = corpus({"a": [(0, 50, "x")], "z": [(0, 50, "y")]}, None)
    told = found(examine(preds, [SOUND]))
    assert told["unknown-id"] == ["'z'"]  # 'a' is 'v_a'
    assert told["missing-id"] == ["'v_b'"]
    assert told["reader"] == [
        "1 video ids of  were matched with or without the prefix 'v_' or an ending such as .mp4: 'a'"
    ]
    assert examine(preds, [SOUND]).numbers == {
        "videos": 2, "events": 2, "with_duration": 1, "told": 0.5, "references": 2, "found": 1
    }  # fmt: skip
    strangers = examine(corpus({"q": [(0, 50, "x")]}), [SOUND])
    assert found(strangers)["no-common-id"] == ["the file has 'q', the references 'v_a'"]
    assert not strangers.sound


def test_durations_come_from_the_references() -> None:
    preds = corpus({"v_a": [(0, 150, "x")]}, None)
    assert "past-duration" not in found(examine(preds))
    assert "past-duration" in found(examine(preds, [SOUND]))


def test_the_readers_remarks_are_findings() -> None:
    notes = Notes()
    notes.add("{n} odd things", "'v_a'")
    assert found(examine(SOUND, (), notes)) == {"reader": ["1 odd things: 'v_a'"]}


def test_single_captions() -> None:
    report = examine_items([(1, "a dog"), (2, " "), (3, "ein Bär")], [1, 2, 4])
    assert found(report) == {
        "empty-caption": ["2 ' '"], "unknown-id": ["3"], "missing-id": ["4"], "non-ascii": ["3 'ä'"]
    }  # fmt: skip


def test_checks_say_what_they_are() -> None:
    ids = [c.id for c in checks()]
    assert len(ids) == len(set(ids)) >= 20
    for check in checks():
        assert check.about.endswith(".") and "\n" not in check.about
        assert check.level in ("error", "warning", "info")
    assert {c.fix for c in checks()} == {None, "swap", "drop", "clip", "sort", "spell"}
    assert checks_room.room.load("segments")


def test_json() -> None:
    document = examine(corpus({"v": [(20, 10, "a")]})).to_dict()
    assert document["levels"] == {"error": 1, "warning": 0, "info": 1}
    assert document["findings"][0] == {
        "check": "reversed",
        "level": "error",
        "about": "The segment ends before it starts: it matches nothing.",
        "fix": "swap",
        "count": 1,
        "places": [{"video": "v", "event": 0, "seen": "[20, 10]"}],
    }
