"""BLEU by hand, against pycocoevalcap's output, and as a fold over statistics."""

import math

import pytest
from golden_bcr import rows
from hypothesis import given
from hypothesis import strategies as st

from fabula.core.errors import InputError
from fabula.text import bleu

CAPTION = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=8).map(" ".join)
ITEM = st.tuples(CAPTION, st.lists(CAPTION, min_size=1, max_size=3))


def test_counts_of_one_item():
    # "the" is guessed three times; the second reference has it twice, so two of them are correct
    stats = bleu.stats("the the the cat", ["a cat sat", "the cat on the mat"])
    assert stats.guess == (4, 3, 2, 1)
    assert stats.correct == (2 + 1, 1, 0, 0)  # the the cat | the cat
    assert (stats.c, stats.r) == (4, 3)  # 3 and 5 are equally close: the shorter one


def test_two_words_of_three():
    stats = bleu.stats("a man runs", ["a man sits"])
    b1, b2, b3, _ = bleu.segment(stats)
    assert b1 == pytest.approx(2 / 3, abs=1e-8)
    assert b2 == pytest.approx(math.sqrt(2 / 3 * 1 / 2), abs=1e-8)
    assert b3 == pytest.approx((2 / 3 * 1 / 2 * 1e-15) ** (1 / 3), rel=1e-8)  # no trigram matches: tiny, not 0


def test_brevity_penalty_is_exp_one_minus_r_over_c():
    b1, b2, *_ = bleu.segment(bleu.stats("a man", ["a man runs home"]))
    assert b1 == pytest.approx(1 * math.exp(1 - 4 / 2), abs=1e-8)
    assert b2 == pytest.approx(1 * math.exp(1 - 4 / 2), abs=1e-8)


def test_a_longer_candidate_pays_no_penalty():
    assert bleu.segment(bleu.stats("a man runs home", ["a man"]))[0] == pytest.approx(2 / 4, abs=1e-8)


def test_corpus_sums_before_it_divides():
    stats = [bleu.stats("a b", ["a b"]), bleu.stats("a b c d e f", ["a x x x x x"])]
    assert bleu.corpus(stats)[0] == pytest.approx((2 + 1) / (2 + 6), abs=1e-8)  # not the mean (1 + 1/6) / 2


def test_nothing_scores_nothing():
    assert bleu.segment(bleu.stats("", ["a man"])) == (0, 0, 0, 0)
    assert bleu.segment(bleu.stats("", [""])) == (0, 0, 0, 0)
    assert bleu.corpus([]) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("candidate", "references", "says"),
    [
        ("a", [], "item 7: references: the list is empty"),
        (None, ["a"], "item 7: candidate: seen None"),
        ("a", ["a", 3], r"item 7: references\[1\]: seen 3"),
        ("a", "a man", "item 7: references: seen 'a man', expected a list"),
    ],
)
def test_bad_input_names_the_item(candidate, references, says):
    with pytest.raises(InputError, match=says):
        bleu.stats(candidate, references, item=7)


@given(st.lists(ITEM, max_size=5), st.lists(ITEM, max_size=5))
def test_shards_may_be_summed_apart(left, right):
    a, b = ([bleu.stats(*item) for item in items] for items in (left, right))
    assert bleu.corpus([bleu.total(a), bleu.total(b)]) == bleu.corpus(a + b)


@given(ITEM)
def test_bounds(item):
    assert all(0 <= value <= 1 + 1e-6 for value in bleu.segment(bleu.stats(*item)))


def test_golden():
    pairs, (*expected, last) = rows("pairs_tok"), rows("bcr_tok")
    stats = [bleu.stats(row["cand"], row["refs"], item=row["id"]) for row in pairs]
    for row, want in zip(stats, expected, strict=True):
        assert bleu.segment(row) == pytest.approx([want[f"bleu{k}"] for k in (1, 2, 3, 4)], abs=1e-9), want["id"]
    assert bleu.corpus(stats) == pytest.approx(last["aggregate"]["bleu"], abs=1e-9)
