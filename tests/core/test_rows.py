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
