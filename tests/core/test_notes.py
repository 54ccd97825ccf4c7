"""Notes: each kind once, counted, the first places named."""

from fabula.core.notes import NAMED, Notes, name_id


def test_kinds_are_counted_and_the_first_places_named():
    notes = Notes()
    for i in range(5):
        notes.add("{n} events are odd", name_id(f"v{i}", i))
    notes.add("the file has no videos")
    assert notes.lines() == ["5 events are odd: 'v0' event 0, 'v1' event 1, 'v2' event 2, …", "the file has no videos"]


def test_all_named_needs_no_dots():
    notes = Notes()
    notes.add("{n} odd", name_id("a"))
    notes.add("{n} odd", name_id("b"))
    assert notes.lines() == ["2 odd: 'a', 'b'"]


def test_one_place_is_named_once():
    notes = Notes()
    notes.add("{n} odd", name_id("a"))
    notes.add("{n} odd", name_id("a"))
    assert notes.lines() == ["2 odd: 'a', …"]


def test_extend_adds_counts_and_keeps_to_the_limit():
    one, two = Notes(), Notes()
    one.add("{n} odd", "a")
    for name in "abcdef":
        two.add("{n} odd", name)
    two.add("{n} new", "x", count=7)
    one.extend(two)
    assert one.counts == {"{n} odd": 7, "{n} new": 7}
    assert one.kinds["{n} odd"] == ["a", "b", "c"]
    assert len(one.kinds["{n} odd"]) == NAMED
    assert two.counts == {"{n} odd": 6, "{n} new": 7}
