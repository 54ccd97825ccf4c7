"""Ids in text, by first appearance."""

import pytest

from fabula.core.errors import SpecError
from fabula.text.identity import (
    as_text,
    hide_ids,
    ids,
    is_named,
    label,
    normalise_as_published,
    number_labels,
    pattern,
    renumber_ids,
    respell_ids,
)


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
    assert renumber_ids(captions) == expected
    assert renumber_ids(expected) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P4 sees P3, P4's  dog and p4 .", "P1 sees P3, P4's dog and P2"),  # P3, and P4's are no ids; p4 is not P4
        ("p3 enters. p1 nods at p3. stop. p1 waits.", "P1 enters. P2 nods at P1. Stop . P2 waits"),
        ("P18 waves. P19 sits.", "P1 waves. P19 sits"),
        ("McGee runs. P2's car.", "Mcgee runs. P2's car"),
        ("", ""),
    ],
)
def test_as_the_published_code_prepares_a_text(text, expected):
    """Redone by hand from trainer.py: order_ids_2, capitalize_person_ids, capitalize_first_word_only. The last full
    stop is taken for a separator and is lost; a sentence of one word gets a blank."""
    assert normalise_as_published(text) == expected


def test_people_written_otherwise():
    tags = ["[PERSON2] sees [PERSON1].", "[3009_PERSON2] waves at P1."]
    assert respell_ids(tags, pattern(None)) == ["P1 sees P2.", "P3 waves at P4."]
    assert respell_ids(["P7 waves."], pattern(None)) == ["P7 waves."]
    names = pattern("Harry|Ron")
    assert respell_ids(["Harry's owl bites Ron.", "Ron hits Harry."], names) == ["P1's owl bites P2.", "P2 hits P1."]
    assert respell_ids(["<ann> and <ANN>"], pattern("(?i)<[a-z]+>")) == ["P1 and P2"]
    with pytest.raises(SpecError, match="no regular expression"):
        pattern("[")


def test_captions_of_a_set_are_one_text():
    assert as_text(["P1 enters", " P2 smiles. ", "", 'He says "no."', "Why?"]) == (
        'P1 enters. P2 smiles. He says "no." Why?'
    )
    assert as_text([]) == ""
    assert hide_ids("P2 sees  p1's dog") == hide_ids("p1 sees P9's Dog") != hide_ids("P1 sees a dog")


def test_ids_and_labels():
    assert ids("P2's dog sees p11, P2") == ["P2", "P11", "P2"]
    assert [label(t) for t in ("[3009_PERSON13]", " 26]", "'P1'", " P1 ")] == ["3009_PERSON13", "26", "P1", "P1"]
    assert [is_named(t) for t in ("[0]", "_", "[]", "", "[_]")] == [True, False, False, False, False]
    assert number_labels(["A", "B", None, "A"]) == [0, 1, None, 0]
