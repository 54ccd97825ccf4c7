"""ROUGE-L by hand, against pycocoevalcap's output; the bit-parallel LCS against the textbook's table."""

import numpy as np
import pytest
from golden_bcr import rows
from hypothesis import given
from hypothesis import strategies as st

from fabula import _kernels
from fabula.core.errors import InputError
from fabula.text import rouge

B2 = 1.2**2
KERNELS = ["python", pytest.param("native", marks=pytest.mark.skipif(_kernels.NATIVE is None, reason="not compiled"))]
IDS = st.lists(st.lists(st.integers(0, 4), max_size=150), max_size=4)


def f(P, R):
    return (1 + B2) * P * R / (R + B2 * P)


def table_lcs(a, b):
    """The textbook's dynamic programme, the slow check of the fast code."""
    S = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            S[i + 1][j + 1] = S[i][j] + 1 if x == y else max(S[i][j + 1], S[i + 1][j])
    return S[-1][-1]


@pytest.mark.parametrize("kernel", KERNELS)
@given(A=IDS, B=IDS)
def test_lcs_equals_the_table(kernel, A, B):
    with _kernels.using(kernel):
        L = rouge.lcs(A, B)
    assert L.shape == (len(A), len(B))
    assert L.tolist() == [[table_lcs(a, b) for b in B] for a in A]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("length", [63, 64, 65, 128, 129, 1000])
def test_lcs_across_word_borders(kernel, length):
    a = list(range(length))
    with _kernels.using(kernel):
        L = rouge.lcs([a, a[::-1], [0] * length], [a, a[1:] + a[:1], [0] * length])
    assert L.tolist() == [[length, length - 1, 1], [1, 2, 1], [1, 1, length]]


def test_subsequence_need_not_be_contiguous():
    # LCS("a man on a horse", "a horse and a man") is "a man", "a horse" or "a a": 2 of 5 and 5 tokens
    assert rouge.score("a man on a horse", ["a horse and a man"]) == pytest.approx(f(2 / 5, 2 / 5))
    assert rouge.score("a man runs", ["a tall man runs home"]) == pytest.approx(f(3 / 3, 3 / 5))


def test_maxima_come_from_different_references():
    # "x a b" gives P = 2/3, R = 2/5 with the first and P = 1/3, R = 1/1 with the second; the best of each is taken
    assert rouge.score("x a b", ["a b c d e", "x"]) == pytest.approx(f(2 / 3, 1 / 1))


def test_empty_string_is_one_token():
    assert rouge.score("", [""]) == 1.0
    assert rouge.score("", ["a man"]) == 0.0
    assert rouge.score("a  b", ["a b"]) == pytest.approx(f(2 / 3, 2 / 2))  # two blanks hold an empty token
    assert rouge.score("1\xa01/2 cup", ["1 1/2 cup"]) == pytest.approx(f(1 / 2, 1 / 3))  # only ' ' separates


def test_pairs_shapes():
    assert rouge.pairs([], ["a"]).shape == (0, 1)
    assert rouge.pairs(["a"], []).shape == (1, 0)
    assert rouge.pairs(["a", "b"], ["a", "b", ""]).tolist() == [[1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: rouge.score("a", [], item="v_1"), "item v_1: references: the list is empty"),
        (lambda: rouge.score(2.0, ["a"], item=3), r"item 3: candidate: seen 2\.0"),
        (lambda: rouge.pairs(["a", None], ["a"]), r"candidates\[1\]: seen None"),
        (lambda: rouge.pairs(["a"], "a man"), "references: seen 'a man', expected a list"),
    ],
)
def test_bad_input_names_the_item(call, says):
    with pytest.raises(InputError, match=says):
        call()


def test_golden():
    pairs, (*expected, last) = rows("pairs_tok"), rows("bcr_tok")
    values = [rouge.score(row["cand"], row["refs"], item=row["id"]) for row in pairs]
    assert values == pytest.approx([want["rouge"] for want in expected], abs=1e-9)
    assert np.mean(values) == pytest.approx(last["aggregate"]["rouge_mean_defined"], abs=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_golden_pairs_equal_single_scores(kernel):
    some = rows("pairs_tok")[::50]
    candidates, references = [row["cand"] for row in some], [row["refs"][0] for row in some]
    with _kernels.using(kernel):
        F = rouge.pairs(candidates, references)
    assert F.tolist() == [[rouge.score(c, [r]) for r in references] for c in candidates]
