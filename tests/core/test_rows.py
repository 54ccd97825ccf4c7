"""Rows: columns of equal length, cut and joined freely."""

import numpy as np
import pytest

from fabula.core.rows import Rows

TABLE = [
    {"video": "a", "refset": 0, "value": 1.0, "n": 2.0},
    {"video": "b", "refset": 0, "value": 0.5, "n": 3.0},
    {"video": "a", "refset": 1, "value": 0.25, "n": 4.0},
]


def test_round_trip():
    rows = Rows.of(TABLE)
    assert list(rows.dicts()) == TABLE
    assert list(Rows.of(rows.dicts()).dicts()) == TABLE
    assert len(rows) == 3
    assert rows.keys == ("a", "b", "a")
    assert rows["value"].tolist() == [1, 0.5, 0.25]


def test_the_reference_set_is_0_unless_told():
    assert Rows.of([{"video": "a", "value": 1}]).refset.tolist() == [0]


def test_take_repeats_and_reorders():
    rows = Rows.of(TABLE).take([2, 0, 0])
    assert rows.keys == ("a", "a", "a")
    assert rows["n"].tolist() == [4, 2, 2]
    assert rows.refset.tolist() == [1, 0, 0]
    assert len(Rows.of(TABLE).take([])) == 0
    assert Rows.of(TABLE).take(np.array([1])).keys == ("b",)


def test_sets():
    rows = Rows.of(TABLE)
    assert [part.keys for part in rows.sets()] == [("a", "b"), ("a",)]
    assert rows.take([0, 1]).sets()[0].keys == ("a", "b")
    assert len(rows.take([2]).sets()) == 1


def test_empty():
    rows = Rows.of([])
    assert len(rows) == 0
    assert list(rows.dicts()) == []
    assert rows.sets() == [rows]


def test_a_missing_column_is_an_error():
    with pytest.raises(KeyError):
        Rows.of([{"video": "a", "value": 1}, {"video": "b"}])


def test_a_number_a_video_is_the_mean_over_its_sets():
    assert Rows.of(TABLE).by_key("value") == {"a": (1 + 0.25) / 2, "b": 0.5}
    assert list(Rows.of(TABLE).by_key("n")) == ["a", "b"]


def test_sets_stand_in_their_own_order():
    backwards = Rows.of(TABLE).take([2, 1, 0])
    assert [part["value"].tolist() for part in backwards.sets()] == [[0.5, 1], [0.25]]


def test_joined():
    first, second = Rows.of(TABLE[:2]), Rows.of(TABLE[2:])
    assert list(Rows.joined([first, second]).dicts()) == TABLE
    assert Rows.joined([first]) is first
    assert Rows.joined([Rows.of([]), first, Rows.of([])]) is first  # a part without rows has no columns to agree on
    assert list(Rows.joined([second, Rows.of([]), first]).dicts()) == [TABLE[2], *TABLE[:2]]
    assert len(Rows.joined([])) == len(Rows.joined([Rows.of([]), Rows.of([])])) == 0
    assert Rows.joined([Rows.of([], unit="id"), Rows.of([], unit="id")]).unit == "id"


def test_joined_keeps_the_columns_that_all_have():
    both = Rows.joined([Rows.of([{"id": 1, "x": 1, "y": 2}], unit="id"), Rows.of([{"id": 2, "y": 3}], unit="id")])
    assert list(both.dicts()) == [{"id": 1, "refset": 0, "y": 2}, {"id": 2, "refset": 0, "y": 3}]
    assert both.unit == "id"


def test_lists_are_filled_up_with_zeros_at_the_end():
    short, long = (Rows.of([{"video": v, "x": x}]) for v, x in (("a", [1, 2]), ("b", [3, 4, 5])))
    assert Rows.joined([short, long])["x"].tolist() == [[1, 2, 0], [3, 4, 5]]
    assert Rows.joined([long, short])["x"].tolist() == [[3, 4, 5], [1, 2, 0]]


def test_what_is_drawn_together():
    alone = Rows.of(TABLE)
    assert alone.drawn == ("a", "b", "a")
    queries = Rows((1, 2, 3), np.zeros(3, dtype=np.int64), {"x": np.arange(3.0)}, "query", ("v", "w", "v"))
    assert queries.drawn == ("v", "w", "v")
    assert queries.take([2, 1]).drawn == ("v", "w")
    assert queries.take([2, 1]).unit == "query"
    assert Rows.joined([queries, queries.take([1])]).drawn == ("v", "w", "v", "w")
    assert Rows.joined([alone, alone]).clusters is None
