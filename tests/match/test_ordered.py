"""Ordered matching: vectors by hand, brute force over all increasing pairs, the compiled kernel bit for bit."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fabula import _kernels
from fabula.core.errors import MatrixError
from fabula.match import ordered
from fabula.match.ordered import fill_between, marked_many, marked_pairs, ordered_many, ordered_python
from fabula.pair.tiou import tiou
from tests.toys import FIG3, GOLD, PROPOSALS

SEED = 20200823
MATRICES = 100_000
KINDS = ("dense", "sparse", "tied", "negative")

MATRIX = arrays(
    np.float64,
    st.tuples(st.integers(0, 8), st.integers(0, 8)),
    elements=st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(-2, 2, allow_subnormal=False)),
)


# Vectors ------------------------------------------------------------------------------------------------------------

VECTORS = {
    "V1 the better of two crossing pairs": ([[0, 1], [0.5, 0]], 1.0, [(0, 1)]),
    "V2 a zero is no pair": ([[0]], 0.0, []),
    "V3 zeros are no pairs": ([[0, 0], [0, 0]], 0.0, []),
    "V4 PSS Fig. 3": (FIG3, 0.26 + 0.49 + 0.75, [(0, 0), (1, 1), (2, 3)]),
    "V5": ([[0.2, 0.6, 0.1], [0.5, 0.1, 0.4]], 0.6 + 0.4, [(0, 1), (1, 2)]),
    "V6 crossing .8 + .8 is forbidden": ([[0.9, 0.8], [0.8, 0]], 0.9, [(0, 0)]),
    "V7 tie: Algorithm 1 matches the second": ([[0.5], [0.5]], 0.5, [(1, 0)]),
    "V9 SODA_c's product": ([[0.5 * 0.4, 0.2 * 0.1], [0.1 * 0.3, 0.8 * 0.2]], 0.2 + 0.16, [(0, 0), (1, 1)]),
}


@pytest.mark.parametrize(("C", "value", "pairs"), VECTORS.values(), ids=VECTORS.keys())
def test_vectors(C, value, pairs, kernels):
    assert ordered(C) == (pytest.approx(value, abs=1e-15), pairs)


def test_pss_notebook_on_iou(kernels):
    # (0,1) .5, (2,4) .5; the second reference prefers .1818 with proposal 2 over .2 with the taken proposal 1
    value, pairs = ordered(tiou(GOLD, PROPOSALS))
    assert pairs == [(0, 1), (1, 2), (2, 4)]
    assert value == pytest.approx(5 / 10 + 4 / 22 + 4 / 8)


TIES = {
    # UPPER (skip the prediction) wins over DIAGONAL (match): of two equal predictions the earlier is matched
    "equal predictions": ([[0.5, 0.5]], [(0, 0)]),
    # DIAGONAL wins over LEFT (skip the reference): of two equal references the later is matched
    "equal references": ([[0.5], [0.5]], [(1, 0)]),
    "all equal": ([[0.5, 0.5], [0.5, 0.5]], [(0, 0), (1, 1)]),
    "two best of three": ([[1, 1, 1], [1, 1, 1]], [(0, 0), (1, 1)]),
    "three references, two predictions": ([[1, 1], [1, 1], [1, 1]], [(1, 0), (2, 1)]),
    "a negative pair is never made": ([[-1, 0], [0, -1]], []),
}


@pytest.mark.parametrize(("C", "pairs"), TIES.values(), ids=TIES.keys())
def test_ties(C, pairs, kernels):
    assert ordered(C)[1] == pairs


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (0,)])
def test_empty(shape, kernels):
    assert ordered(np.zeros(shape)) == (0.0, [])


def test_lists_integers_booleans_and_views(kernels):
    assert ordered([]) == (0.0, [])
    assert ordered([[1, 2], [3, 4]]) == (5.0, [(0, 0), (1, 1)])
    assert ordered(np.array([[False, True]])) == (1.0, [(0, 1)])
    C = np.arange(12.0).reshape(3, 4)
    assert ordered(C.T) == ordered(C.T.copy())
    assert ordered(C[::2, ::-1]) == ordered(C[::2, ::-1].copy())
    assert ordered(C.astype(np.float32)) == ordered(C)


def test_the_matrix_is_left_alone(kernels):
    C = np.random.default_rng(SEED).random((5, 7))
    before = C.copy()
    ordered(C)
    assert np.array_equal(C, before)


def test_plain_types_come_out(kernels):
    value, pairs = ordered(np.eye(2))
    assert type(value) is float
    assert type(pairs) is list
    assert all(type(i) is int for pair in pairs for i in pair)


# Brute force --------------------------------------------------------------------------------------------------------


def increasing(G: int, P: int) -> np.ndarray:
    """Every set of pairs that grows on both sides, as a mask. [K, G·P], K = Σ_k C(G,k)·C(P,k)"""
    masks = []
    for k in range(min(G, P) + 1):
        for rows in itertools.combinations(range(G), k):
            for columns in itertools.combinations(range(P), k):
                mask = np.zeros((G, P))
                mask[list(rows), list(columns)] = 1
                masks.append(mask.ravel())
    return np.array(masks).reshape(len(masks), G * P)


def random_matrices(rng: np.random.Generator, kind: str, n: int, G: int, P: int) -> np.ndarray:
    match kind:
        case "dense":
            return rng.random((n, G, P))
        case "sparse":
            return rng.random((n, G, P)) * (rng.random((n, G, P)) < 0.3)
        case "tied":
            return rng.integers(0, 4, (n, G, P)) / 4
        case "negative":
            return rng.normal(size=(n, G, P))
    raise AssertionError(kind)


def test_brute_force_on_100_000_matrices():
    shapes = [*itertools.product(range(5), repeat=2), (1, 6), (6, 1), (2, 6), (6, 2), (5, 5), (3, 6), (5, 4), (6, 6)]
    each = -(-MATRICES // (len(shapes) * len(KINDS)))
    rng = np.random.default_rng(SEED)
    native = _kernels.NATIVE
    seen = 0
    for G, P in shapes:
        masks = increasing(G, P)
        for kind in KINDS:
            batch = random_matrices(rng, kind, each, G, P)
            best = (batch.reshape(each, G * P) @ masks.T).max(axis=1)
            for C, expected in zip(batch, best, strict=True):
                value, pairs = ordered_python(C)
                assert abs(value - expected) < 1e-12, (C, value, expected)
                assert sum(float(C[i, j]) for i, j in pairs) == value, (C, pairs)  # added in order: the same bits
                if native is not None:
                    assert native.ordered(C) == (value, pairs), C
                seen += 1
    assert seen >= MATRICES


def test_brute_force_counts_what_it_should():
    assert len(increasing(2, 2)) == 1 + 4 + 1
    assert len(increasing(6, 6)) == 924  # C(12, 6)
    assert len(increasing(0, 3)) == 1


@pytest.mark.skipif(_kernels.NATIVE is None, reason="this install has no compiled kernels")
def test_twins_agree_on_larger_matrices():
    rng = np.random.default_rng(SEED)
    for kind in KINDS:
        for G, P in [(40, 60), (60, 40), (1, 300), (300, 1), (100, 100)]:
            C = random_matrices(rng, kind, 1, G, P)[0]
            assert _kernels.NATIVE.ordered(C) == ordered_python(C)


# Properties ---------------------------------------------------------------------------------------------------------


@settings(max_examples=120, deadline=None)
@given(MATRIX)
def test_properties(C):
    G, P = C.shape
    value, pairs = ordered(C)
    assert 0 <= value <= min(G, P) * max(C.max(initial=0.0), 0.0) * (1 + 1e-12)
    assert all(a < c and b < d for (a, b), (c, d) in itertools.pairwise(pairs))
    assert all(C[i, j] > 0 for i, j in pairs)
    assert sum(float(C[i, j]) for i, j in pairs) == value
    assert ordered(C.T)[0] == pytest.approx(value, abs=1e-12)
    assert ordered(C[::-1, ::-1])[0] == pytest.approx(value, abs=1e-12)  # time told backwards


@given(MATRIX, st.integers(0, 8), st.integers(0, 8))
def test_zero_rows_and_columns_change_nothing(C, row, column):
    G, P = C.shape
    value, _ = ordered(C)
    assert ordered(np.insert(C, min(row, G), 0.0, axis=0))[0] == value
    assert ordered(np.insert(C, min(column, P), 0.0, axis=1))[0] == value


@given(MATRIX)
def test_both_kernels_agree(C):
    with _kernels.using("python"):
        expected = ordered(C)
    assert ordered(C) == expected


# Size ---------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(_kernels.NATIVE is None, reason="this install has no compiled kernels")
def test_5000_by_5000_in_less_than_a_second():
    C = np.random.default_rng(SEED).random((5000, 5000))
    taken = []
    for _ in range(3):
        start = time.process_time()
        with _kernels.using("native"):
            value, pairs = ordered(C)
        taken.append(time.process_time() - start)
        if taken[-1] < 1:
            break
    assert min(taken) < 1
    assert sum(float(C[i, j]) for i, j in pairs) == value


@pytest.mark.parametrize("shape", [(1, 20_000), (20_000, 1), (600, 600)])
def test_long_stories_need_no_recursion(shape, kernels):
    C = np.random.default_rng(SEED).random(shape)
    value, pairs = ordered(C)
    if 1 in shape:
        at = np.unravel_index(C.argmax(), shape)
        assert (value, pairs) == (C.max(), [(int(at[0]), int(at[1]))])
    else:
        assert sum(float(C[i, j]) for i, j in pairs) == value


# Many at once -------------------------------------------------------------------------------------------------------


@given(st.lists(MATRIX, max_size=6))
def test_many_matrices_end_to_end_are_each_their_own(some):
    shapes = np.array([C.shape for C in some], dtype=np.int64).reshape(-1, 2)
    cells = np.concatenate([np.zeros(0), *(C.ravel() for C in some)])
    for kernel in ("python", *(["native"] if _kernels.NATIVE else [])):
        with _kernels.using(kernel):
            values, chosen = ordered_many(cells, shapes)
            alone = [ordered(C) for C in some]
        assert values.tolist() == [value for value, _ in alone]
        ends = np.cumsum([C.size for C in some])[:-1] if some else []
        flags = np.split(chosen, ends) if some else []
        found = [np.argwhere(f.reshape(C.shape)) for f, C in zip(flags, some, strict=True)]
        assert [list(map(tuple, f.tolist())) for f in found] == [pairs for _, pairs in alone]


def test_marks_of_many(kernels):
    some = [np.array(C, dtype=np.float64) for C, _, _ in VECTORS.values()]
    shapes = np.array([C.shape for C in some])
    chosen = marked_many(np.concatenate([C.ravel() for C in some]), shapes)
    for C, flags in zip(some, np.split(chosen, np.cumsum([C.size for C in some])[:-1]), strict=True):
        assert list(map(tuple, np.argwhere(flags.reshape(C.shape)).tolist())) == marked_pairs(C)


def test_many_refuse_what_is_not_finite(kernels):
    with pytest.raises(MatrixError, match=r"C\[1\] is nan \(1 of 2 entries are not finite\)"):
        ordered_many(np.array([0.5, np.nan]), np.array([[1, 2]]))


@pytest.mark.skipif(not _kernels.NATIVE, reason="no compiled kernels")
@pytest.mark.parametrize("shapes", [[[1, 1]], [[2, 2]], [[-1, -2]], [[1, 2], [0, 1]]])
def test_the_kernel_refuses_shapes_that_do_not_fit(shapes):
    with pytest.raises(ValueError, match="ordered_many"):
        _kernels.NATIVE.ordered_many(np.zeros(2), np.array(shapes), np.zeros(1), np.zeros(2, bool))


def test_what_is_filled_in_costs_nothing(kernels):
    """Two matrices: in the first (0, 0) is won and (2, 1) fits behind it; in the second nothing is won."""
    C = np.array([1.0, 0, 0, 0, 0, 0, 0, 0, 0, 0])  # [3, 2], then [2, 2]
    E = np.array([0.2, 0.9, 0.8, 0, 0, 0.3, 0.5, 0.6, 0, 0.4])
    chosen = fill_between(C, E, np.array([[3, 2], [2, 2]]))
    assert np.flatnonzero(chosen).tolist() == [0, 5, 6, 9]
