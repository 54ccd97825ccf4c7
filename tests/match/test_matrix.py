"""What every matcher refuses, and how it says where."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from fabula.core.errors import FabulaError, MatrixError
from fabula.match import greedy, hungarian, ordered, soft_ordered

MATCHERS = (ordered, greedy, hungarian, soft_ordered)
NAN, INF = float("nan"), float("inf")

BAD = {
    "nan": ([[0, 1], [NAN, 1]], r"\[1, 0\] is nan \(1 of 4 entries are not finite\)"),
    "inf": ([[0, 1, INF], [INF, 1, 0]], r"\[0, 2\] is inf \(2 of 6 entries"),
    "minus inf": ([[-INF]], r"\[0, 0\] is -inf \(1 of 1 entries"),
    "none": ([[0, None]], r"\[0, 1\] is nan|not a matrix of numbers"),
    "one dimension": ([1.0, 2.0], r"has 1 dimensions \(shape \(2,\)\); a matching needs 2"),
    "three dimensions": (np.zeros((2, 3, 4)), r"has 3 dimensions \(shape \(2, 3, 4\)\)"),
    "three dimensions, empty": (np.zeros((0, 3, 4)), r"has 3 dimensions"),
    "ragged": ([[1, 2], [3]], "not a matrix of numbers"),
    "words": ([["a", "b"]], "not a matrix of numbers"),
    "digits in words": ([["1", "2"]], "not a matrix of numbers"),
    "complex": (np.array([[1 + 2j]]), "not a matrix of numbers"),
    "digits in bytes": (np.array([[b"1"]]), "not a matrix of numbers"),
    "objects": ([[object()]], "not a matrix of numbers"),
    "dates": (np.array([["2020-08-23"]], dtype="datetime64[D]"), "not a matrix of numbers"),
    "a dict": ({"a": 1}, "not a matrix of numbers"),
}


@pytest.mark.parametrize("matcher", MATCHERS)
@pytest.mark.parametrize(("C", "said"), BAD.values(), ids=BAD.keys())
def test_refused(matcher, C, said, kernels):
    with pytest.raises(MatrixError, match=said) as caught:
        matcher(C)
    assert isinstance(caught.value, FabulaError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("matcher", (ordered, greedy, hungarian))
def test_empty_list_is_an_empty_matrix(matcher):
    assert matcher([]) == (0.0, [])
    assert matcher([[]]) == (0.0, [])


def test_numbers_of_other_kinds():
    assert ordered([[Fraction(1, 2), 1], [Decimal("0.25"), True]]) == (1.5, [(0, 0), (1, 1)])


def test_the_cost_is_called_cost():
    with pytest.raises(MatrixError, match=r"^cost\[0, 0\]"):
        soft_ordered([[NAN]])
