"""Letters voted over readings, on paper; likeness of texts; spaces."""

from __future__ import annotations

import random

import pytest

from fabula.media.signs.base import Line
from fabula.media.signs.gates import keep_sure_words, split_words
from fabula.media.signs.vote import Voted, edits, fold_text, likeness, vote


def line(text: str, sure: float = 0.9, space: float = 0.0, pictures: int = 1) -> Line:
    letters = text.replace(" ", "")
    spaces, k = [0.0] * len(letters), 0
    for c in text:
        if c == " ":
            spaces[k] = 1.0
        else:
            k += 1
    return Line((0, 0, 1, 1), letters, (sure,) * len(letters), tuple(s or space for s in spaces), 0.9, pictures)


def test_most_readings_win_letter_by_letter():
    found = vote([line("STREET"), line("STREET"), line("STBEET"), line("STREE7")])
    assert found.text == "STREET"
    assert found.sure[0] == pytest.approx(0.9)  # all agree
    assert found.sure[2] == pytest.approx(0.9 * 3 / 4)  # three of four


def test_a_sure_reading_outweighs_two_unsure_ones():
    assert vote([line("CAFE", 0.95), line("CARE", 0.5), line("CARE", 0.5)]).text == "CAFE"  # .90 against .25 + .25


def test_a_reading_of_eight_pictures_weighs_as_eight():
    assert vote([line("CAFE", 0.9, pictures=8), *[line("CARE", 0.9)] * 7]).text == "CAFE"
    assert vote([line("CAFE", 0.9, pictures=1), *[line("CARE", 0.9)] * 2]).text == "CARE"


def test_what_is_cut_by_the_edge_is_put_together():
    found = vote([line("ZOSTWA"), line("ZOSTWA"), line("OSTWA"), line("STWA"), line("OSTWA")])
    assert found.text == "ZOSTWA"


def test_one_reading_of_many_makes_no_further_letters():
    assert vote([*[line("HOTEL")] * 9, line("HOTELXX")]).text == "HOTEL"


def test_spaces_are_the_mean_of_what_readings_say():
    assert vote([line("AB CD"), line("ABCD"), line("AB CD")]).text == "AB CD"
    assert vote([line("AB CD"), *[line("ABCD")] * 5]).text == "ABCD"


def test_a_hinted_space_is_set_between_two_words():
    voted = Voted("ORIGINALAND", (0.9,) * 11, (0,) * 8 + (0.05, 0, 0))
    assert voted.text == "ORIGINALAND" and split_words(voted) == "ORIGINAL AND"
    assert split_words(vote([line("ORIGINALAND")])) == "ORIGINALAND"  # no hint
    assert split_words(vote([line("MALBORK", space=0.05)])) == "MALBORK"  # MALB and ORK are no words
    assert split_words(vote([line("notable", space=0.05)])) == "notable"  # is a word


def test_words_that_no_reading_is_sure_of_are_left_out():
    sure = (0.9,) * 5 + (0.2,) * 3 + (0.9,) * 2
    voted = Voted("HOTELqzjNo", sure, (0, 0, 0, 0, 0, 1, 0, 0, 1, 0))
    assert voted.text == "HOTEL qzj No" and keep_sure_words(voted).text == "HOTEL No"


@pytest.mark.parametrize(
    ("a", "b", "free", "expected"),
    [
        ("kitten", "sitting", False, 3),
        ("sunday", "saturday", False, 3),
        ("abc", "xxabcxx", True, 0),
        ("", "ab", False, 2),
    ],
)
def test_edits(a, b, free, expected):
    assert edits(a, b, free) == expected


def test_edits_as_a_table_has_them():
    rng = random.Random(1)
    for _ in range(300):
        a, b = ("".join(rng.choices("abc", k=rng.randint(0, 9))) for _ in range(2))
        for free in (False, True):
            row = [0] * (len(b) + 1) if free else list(range(len(b) + 1))
            for i, x in enumerate(a, 1):
                diagonal, row[0] = row[0], i
                for j, y in enumerate(b, 1):
                    diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
            assert edits(a, b, free) == (min(row) if free else row[-1]), (a, b, free)


def test_likeness():
    assert likeness("hotel", "hotel") == 1
    assert likeness("hotel", "motel") == pytest.approx(0.8)
    assert likeness("hot", "hotel") == pytest.approx(0.7 + 0.3 * 3 / 5)  # a part, whole
    assert likeness("ab", "xabx") == pytest.approx(0.5)  # too short to be a part
    assert likeness("", "a") == 0


def test_folding():
    assert fold_text("Café, 12!") == "cafe12" and fold_text("蔡徐坤") == "蔡徐坤"
