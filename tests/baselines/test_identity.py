"""Two ways to fill blanks without looking."""

from fabula.evaluate.baselines.identity import all_different, same_id

REFS = {"a": ("X", "Y"), "b": (), "c": ("X",)}


def test_one_person_or_always_another():
    assert same_id(REFS) == {"a": ("0", "0"), "b": (), "c": ("0",)}
    assert all_different(REFS) == {"a": ("0", "1"), "b": (), "c": ("2",)}
