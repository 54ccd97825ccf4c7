"""Pairs that cost the best matching nothing, filled in between its own."""

from itertools import pairwise

import numpy as np

from fabula.match.ordered import fill_between, ordered, ordered_many, table


def filled(C, E):
    C, E = np.array(C, dtype=float), np.array(E, dtype=float)
    chosen = fill_between(C.ravel(), E.ravel(), np.array([C.shape]))
    return [tuple(at) for at in np.argwhere(chosen.reshape(C.shape)).tolist()]


def test_before_between_and_after(kernels):
    C, E = np.zeros((5, 5)), np.zeros((5, 5))
    C[1, 1] = C[3, 3] = 1
    E[0, 0] = E[2, 2] = E[4, 4] = 0.5
    assert filled(C, E) == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]


def test_what_would_cross_a_pair_stays_out(kernels):
    C = np.zeros((3, 3))
    C[1, 1] = 1
    for place in ((0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)):
        E = np.zeros((3, 3))
        E[place] = 9
        assert filled(C, E) == [(1, 1)]


def test_between_pairs_the_best_of_the_other_matrix(kernels):
    """Between (0, 0) and (3, 3) lie rows and columns 1 and 2: 3 + 3 in order beats 5 across."""
    C, E = np.zeros((4, 4)), np.zeros((4, 4))
    C[0, 0] = C[3, 3] = 1
    E[1, 1] = E[2, 2] = 3
    E[1, 2] = E[2, 1] = 5
    assert filled(C, E) == [(0, 0), (1, 1), (2, 2), (3, 3)]
    E[1, 2] = 7
    assert filled(C, E) == [(0, 0), (1, 2), (3, 3)]


def test_oblong_gaps(kernels):
    C, E = np.zeros((2, 4)), np.zeros((2, 4))
    C[0, 0] = 1
    E[1, 3], E[1, 2] = 2, 1
    assert filled(C, E) == [(0, 0), (1, 3)]
    assert filled(C.T, E.T) == [(0, 0), (3, 1)]


def test_many_matrices_each_their_own(kernels):
    """The first [1, 2], the second [2, 1], the third empty, the fourth [2, 2]."""
    shapes = np.array([(1, 2), (2, 1), (0, 3), (2, 2)])
    C = np.array([0, 1, 0, 0, 1, 0, 0, 0.0])
    E = np.array([5, 0, 0, 1, 0, 0, 0, 4.0])
    assert fill_between(C, E, shapes).tolist() == [False, True, False, True, True, False, False, True]
    values, chosen = ordered_many(C, shapes)
    assert values.tolist() == [1, 0, 0, 1] and chosen.tolist() == [False, True, False, False, True, False, False, False]


def test_each_gap_has_the_best_matching_of_its_own(kernels):
    chance = np.random.default_rng(5)
    shapes = chance.integers(0, 7, (150, 2))
    cells = int(shapes.prod(axis=1).sum())
    E = np.round(chance.random(cells), 1)
    C, start = E * (chance.random(cells) < 0.15), 0
    found = fill_between(C, E, shapes)
    for G, P in shapes.tolist():
        c, e = (X[start : start + G * P].reshape(G, P) for X in (C, E))
        pairs = ordered(c)[1]
        expected = set(pairs)
        for (i, j), (k, m) in pairwise([(-1, -1), *pairs, (G, P)]):
            expected |= {(i + 1 + di, j + 1 + dj) for di, dj in ordered(e[i + 1 : k, j + 1 : m])[1]}
        assert {tuple(at) for at in np.argwhere(found[start : start + G * P].reshape(G, P)).tolist()} == expected
        start += G * P


def test_the_table_by_hand():
    C = np.array([[1.0, 0.0], [2.0, 1.0]])
    assert table(C).tolist() == [[0, 0, 0], [0, 1, 1], [0, 2, 2]]
    assert ordered(C) == (2.0, [(1, 0)])  # 2 alone ties with 1 + 1: prediction 1 is skipped first
