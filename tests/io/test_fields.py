"""Single fields: what is refused says what was seen, where, and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.core.errors import InputError
from fabula.data.stories import Segment
from fabula.documents.fields import LONGEST_CAPTION, Source, describe_value, plain_caption, plain_number, plain_segment


@pytest.fixture
def source() -> Source:
    return Source(Path("f.json"))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (None, "saw null"),
        (True, "saw true"),
        ("3.5", "saw the string '3.5'"),
        ([1], "saw a list of 1"),
        ({"a": 1}, "saw an object of 1"),
        (float("nan"), "saw nan"),
        (float("inf"), "saw inf"),
        (float("-inf"), "saw -inf"),
        (10**400, "saw 1000000"),
    ],
)
def test_what_is_not_a_finite_number(value: Any, seen: str, source: Source) -> None:
    with pytest.raises(InputError, match=r"^f\.json: video 'v': end: expected a ") as caught:
        source.number(value, "end", "v")
    assert seen in str(caught.value)
    assert caught.value.hint
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("value", [[], [1], [1, 2, 3], (1, 2), "12", None, {"0": 1, "1": 2}, [1, "2"], [True, 2]])
def test_what_is_not_a_segment(value: Any, source: Source) -> None:
    assert plain_segment(value) is None
    with pytest.raises(InputError, match=r"^f\.json: video 'v': timestamp"):
        source.segment(value, "timestamp", "v")


@given(values | st.tuples(values, values).map(list))
def test_the_fast_gear_agrees_with_the_slow_one(value: Any) -> None:
    source = Source(Path("f.json"))
    if (quick := plain_segment(value)) is not None:
        assert quick == source.segment(value, "t")
        assert type(quick.start) is float
    if (words := plain_caption(value)) is not None:
        assert words == source.caption(value, "c")
    if (number := plain_number(value)) is not None:
        assert number == source.number(value, "n")
    assert not source.notes.lines()


def test_whole_numbers_become_seconds(source: Source) -> None:
    assert source.segment([3, 1e301], "t") == Segment(3.0, 1e301)


@pytest.mark.parametrize("value", [0, -1, 0.0])
def test_a_duration_of_nothing(value: Any, source: Source) -> None:
    with pytest.raises(InputError, match=r"video 'v': duration: a duration of .* longer than nothing"):
        source.duration(value, "v")


def test_captions_are_text_of_reasonable_length(source: Source) -> None:
    assert source.caption("x" * LONGEST_CAPTION, "sentence") == "x" * LONGEST_CAPTION
    with pytest.raises(InputError, match=r"video 'v': sentence: a caption of 10,000,000 characters; the longest"):
        source.caption("x" * 10_000_000, "sentence", "v")
    with pytest.raises(InputError, match=r"expected text, saw null; .*leave the field out"):
        source.caption(None, "sentence", "v")


def test_half_a_character_is_replaced_and_counted(source: Source) -> None:
    assert source.caption("a \ud83d b", "s", "v") == "a \ufffd b"
    assert source.caption("whole: 😀 é", "s", "v") == "whole: 😀 é"
    assert source.notes.lines() == ["1 captions held half a character (a lone surrogate); U+FFFD stands there now: 'v'"]


def test_a_missing_key_says_what_is_there(source: Source) -> None:
    with pytest.raises(InputError, match=r"video 'v': event 3: the key 'timestamp' is missing; it has 'a', 'b'"):
        source.entry({"a": 1, "b": 2}, "timestamp", "v", "event 3")
    with pytest.raises(InputError, match="it has nothing"):
        source.entry({}, "timestamp")


def test_unused_fields_are_counted_in_file_order(source: Source) -> None:
    for _ in range(2):
        source.unused({"b": 1, "a": 2, "known": 3}, frozenset({"known"}), "events")
    source.report()
    assert source.notes.lines() == ["fields of events that were not used: 'b' (2), 'a' (2)"]


def test_a_flood_of_unused_fields_makes_one_short_line(source: Source) -> None:
    source.unused({f"{i}" * 1000: i for i in range(1000)}, frozenset(), "events")
    source.report()
    (line,) = source.notes.lines()
    assert "and 988 more" in line
    assert len(line) < 1500


@given(values)
def test_what_was_seen_fits_on_a_line(value: Any) -> None:
    assert len(describe_value(value)) < 80
    assert "\n" not in describe_value(value)
