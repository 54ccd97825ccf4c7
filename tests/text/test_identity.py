"""Ids in text, by first appearance."""

import pytest

from fabula.text.identity import ids, label, named, normalised, numbered


@pytest.mark.parametrize(
    ("captions", "expected"),
    [
        (["P4 carries P3."], ["P1 carries P2."]),
        (["P10 sees P1. p10 leaves P2's car, P1."], ["P1 sees P2. P1 leaves P3's car, P2."]),
        (["P2 runs.", "P7 sees P2."], ["P1 runs.", "P2 sees P1."]),
        (["UP2 is no person, P02 and P2 are one"], ["UP2 is no person, P1 and P1 are one"]),
        (["nobody"], ["nobody"]),
        ([], []),
    ],
)
def test_the_first_person_named_is_p1(captions, expected):
    assert normalised(captions) == expected
    assert normalised(expected) == expected


def test_between_blanks_only_as_the_published_code_does():
    assert normalised(["P4 sees P3, P4's  dog and p4 ."], "blanks") == ["P1 sees P3, P4's  dog and P2 ."]


def test_ids_and_labels():
    assert ids("P2's dog sees p11, P2") == ["P2", "P11", "P2"]
    assert [label(t) for t in ("[3009_PERSON13]", " 26]", "'P1'", " P1 ")] == ["3009_PERSON13", "26", "P1", "P1"]
    assert [named(t) for t in ("[0]", "_", "[]", "", "[_]")] == [True, False, False, False, False]
    assert numbered(["A", "B", None, "A"]) == [0, 1, None, 0]
