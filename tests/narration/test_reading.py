"""Answers about a window: events inside it, and a reason for everything that is none."""

import json

import pytest

from fabula.narration.reading import read_title, read_window
from fabula.narration.windows import Window

W = Window(1, 100.0, 220.0)


def read(events, window=W, duration=400.0):
    rows = [dict(zip(("start", "end", "caption"), event, strict=True)) for event in events]
    return read_window(json.dumps({"events": rows}), window, duration)


def test_events_inside_stay_as_they_are():
    found = read([(150, 160.5, "b"), (110.25, 112, "a")])
    assert [(e.start, e.end, e.caption) for e in found.events] == [(110.25, 112, "a"), (150, 160.5, "b")]
    assert not found.refused and not found.changed and not found.is_empty


def test_over_an_edge_is_cut_and_counted():
    found = read([(90, 105, "a"), (210, 260, "b")])
    assert [(e.start, e.end) for e in found.events] == [(100, 105), (210, 220)]
    assert found.changed == {"cut at an edge of the window": 2}


def test_outside_without_words_and_without_length_are_refused_with_a_reason():
    found = read([(10, 20, "early"), (300, 310, "late"), (120, 120, "none"), (130, 140, ""), (150, 160, "fine")])
    assert [e.caption for e in found.events] == ["fine"]
    whys = sorted(why for _, why in found.refused)
    assert whys == ["no stretch of time", "no words", *["outside the window of 100 to 220 s"] * 2]


def test_times_counted_from_the_window_are_moved_and_counted():
    found = read([(0, 12, "a"), (20, 31, "b"), (40, 50, "c"), (110, 118, "d")])
    assert [(e.start, e.end) for e in found.events] == [(100, 112), (120, 131), (140, 150), (210, 218)]
    assert found.changed["times counted from the window's start"] == 4
    mixed = read([(0, 12, "a"), (120, 131, "b"), (140, 150, "c")])  # most are right: one is refused
    assert len(mixed.events) == 2 and len(mixed.refused) == 1


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"events": [{"start": 120, "end": 130, "caption": "He sits."}]}\n```',
        "1. **02:00 - 02:10** He sits.",
        "From 120 to 130 seconds, he sits.",
        '[{"start": "02:00", "end": "02:10", "caption": "He sits."}, {"start": 150, "end',
        "120.0 - 130.0 秒：He sits.",
    ],
)
def test_prose_is_read(text):
    found = read_window(text, W, 400.0)
    assert [(e.start, e.end) for e in found.events] == [(120, 130)], found


def test_nothing_is_lost():
    cut = read_window('{"events": [{"start": 120, "end": 130, "caption": "a"}, {"start": 140, "en', W, 400.0)
    assert len(cut.events) == 1 and len(cut.refused) == 1
    nonsense = read_window("I cannot see any video.", W, 400.0)
    assert nonsense.is_empty and nonsense.refused == (("I cannot see any video.", "no time"),)
    for nothing in ('{"events": []}', "[]", '{ "events": [ ] }'):
        assert read_window(nothing, W, 400.0).events == () and not read_window(nothing, W, 400.0).is_empty


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ('{"title": "A day"}', "A day"),
        ('```json\n{"title": "A \\"good\\" day", "events": []}\n```', 'A "good" day'),
        ("**A day**", "A day"),
        ('{"events": []}', None),
        ("Sure!\n\nHere is a title for you:", None),
        ('{"title": ""}', None),
        ("x" * 300, None),
    ],
)
def test_titles(text, title):
    assert read_title(text) == title
