"""Nearest rows from codes: the list is that of comparing all, whatever the vectors; kernel and twin agree."""

from fractions import Fraction

import numpy as np
import pytest

from fabula._kernels import NATIVE, using
from fabula.core.errors import InputError
from fabula.library import nearest as module
from fabula.library.nearest import Codes, encode, encode_python, exact_products, nearest, width_of

KINDS = ["python", *(["native"] if NATIVE is not None else [])]
needs_kernel = pytest.mark.skipif(NATIVE is None, reason="no compiled kernels")


@pytest.fixture(params=KINDS)
def kind(request):
    with using(request.param):
        yield request.param


def all_compared(rows, q, k, allowed=None):
    """The list by its definition: every row in double, the largest first, of equal ones the first row."""
    at = np.arange(len(rows)) if allowed is None else np.flatnonzero(allowed)
    score = exact_products(rows, q, at)
    order = np.lexsort((at, -score))[:k]
    return at[order].tolist(), score[order].tolist()


def check(rows, q, k, allowed=None):
    rows, q = np.ascontiguousarray(rows, np.float32), np.asarray(q, np.float32)
    found = nearest(encode(rows), rows, q, k, allowed)
    assert (found.row.tolist(), found.score.tolist()) == all_compared(rows, q, k, allowed)
    return found


def clustered(n, dims, seed=0):
    """Pictures in clusters of one cone, a text in another: the gap between modalities."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(8, dims)) + 4 * rng.normal(size=dims)
    rows = centres[rng.integers(8, size=n)] + 0.5 * rng.normal(size=(n, dims))
    q = 3 * rng.normal(size=dims) + rng.normal(size=dims)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), q / np.linalg.norm(q)


@pytest.mark.parametrize("dims", [1, 2, 7, 31, 32, 33, 100])
def test_the_list_is_that_of_comparing_all(kind, dims):
    rows, q = clustered(700, dims)
    for k in (1, 10, 100, 699, 700, 5000):
        check(rows, q, k)


def test_few_rows_are_compared_as_they_are(kind):
    rows, q = clustered(20_000, 64)
    assert 100 <= check(rows, q, 100).compared < 600


def hostile():
    rng = np.random.default_rng(3)
    n, dims = 300, 37
    base = rng.normal(size=(n, dims))
    powers = 10.0 ** rng.integers(-44, 31, size=(n, 1))
    half = np.repeat(base[:30], 10, axis=0)  # ten of each: ties over the k-th place
    wide = np.where(rng.random((n, dims)) < 0.05, 1e30, 1e-30) * np.sign(base)
    one_hot = np.eye(dims)[rng.integers(dims, size=n)]
    flat = np.zeros((n, dims))
    flat[:, 0] = base[:, 0]
    return {
        "all equal": np.tile(base[0], (n, 1)),
        "all zero": np.zeros((n, dims)),
        "huge": base * 1e30,
        "largest": np.sign(base) * 3.4e38,
        "denormal": base * 1e-44,
        "every size": base * powers,
        "both ends in a row": wide,
        "one-hot": one_hot,
        "orthogonal": flat,  # to a query without its first number
        "ties": half,
        "in the last digit": 1 + np.round(base) * 2.0**-23,
        "growing": base[0] * np.linspace(0, 1, n)[:, None],  # every row beats all before it
        "one far away": np.vstack([base[:-1] * 1e-6, np.full(dims, 1e20)]),
    }


@pytest.mark.parametrize("name", hostile())
def test_hostile_vectors(kind, name):
    rows = hostile()[name]
    rng = np.random.default_rng(4)
    q = rng.normal(size=rows.shape[1])
    q[0] = 0.0 if name == "orthogonal" else q[0]
    for query in (q, q * 1e-44, q * 1e30, np.eye(len(q))[3], np.zeros(len(q)), np.full(len(q), 1e-20) + 1e8 * (q > 1)):
        for k in (1, 7, 25, 300):
            check(rows, query, k)


def test_equal_rows_come_in_their_order(kind):
    rows = np.ones((300, 4), np.float32) / 2
    found = check(rows, np.ones(4), 5)
    assert found.row.tolist() == [0, 1, 2, 3, 4] and found.score.tolist() == [2.0] * 5


def test_nothing_to_be_found(kind):
    q = np.ones(8, np.float32)
    for rows in (np.zeros((0, 8), np.float32), np.ones((3, 8), np.float32)):
        found = nearest(encode(rows), rows, q, 0)
        assert found.row.tolist() == [] and found.compared == 0
    rows = np.zeros((0, 8), np.float32)
    assert nearest(encode(rows), rows, q, 10).row.tolist() == []
    rows = np.ones((5, 8), np.float32)
    assert nearest(encode(rows), rows, q, 10, np.zeros(5, bool)).row.tolist() == []


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 1.0])
def test_only_what_is_allowed(kind, share):
    rows, q = clustered(3000, 24)
    allowed = np.random.default_rng(1).random(3000) < share
    for k in (1, 50, 3000):
        check(rows, q, k, allowed)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(kind, value):
    rows, q = clustered(6000, 5)
    rows, q = rows.astype(np.float32), q.astype(np.float32)
    codes = encode(rows)
    bad, odd = q.copy(), rows.copy()
    bad[3], odd[5001, 2], odd[5900, 0] = value, value, value
    with pytest.raises(InputError, match=rf"the query's vector has {value} at place 3; a search needs finite numbers"):
        nearest(codes, rows, bad, 5)
    with pytest.raises(InputError, match=rf"vector 5,001 has {value} at place 2; a search needs finite numbers"):
        encode(odd)


def test_the_error_is_one(kind):
    """‖x − c − a·v‖ in fractions is never above E; the mean is what encode takes."""
    for rows in hostile().values():
        x = np.ascontiguousarray(rows[:12], np.float32)
        codes = encode(x)
        c = x.mean(axis=0, dtype=np.float64).astype(np.float32)
        for row, code, a, e in zip(x, codes.code, codes.scale, codes.error, strict=True):
            off = [
                Fraction(float(p)) - Fraction(float(m)) - Fraction(float(a)) * int(v)
                for p, m, v in zip(row, c, code[: len(row)], strict=True)
            ]
            assert np.isinf(e) or sum(d * d for d in off) <= Fraction(float(e)) ** 2


@needs_kernel
def test_codes_of_the_kernel_are_those_of_the_twin():
    for name, rows in hostile().items():
        rows = np.ascontiguousarray(rows, np.float32)
        mean = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
        twin, kernel = Codes.empty(*rows.shape), Codes.empty(*rows.shape)
        assert encode_python(rows, mean, twin) == -1
        assert NATIVE.encode_rows(rows, mean, kernel.code, kernel.scale, kernel.error, 2) == -1
        assert (twin.code == kernel.code).all() and (twin.scale == kernel.scale).all(), name
        assert kernel.error == pytest.approx(twin.error, rel=1e-6)


@needs_kernel
def test_every_path_adds_up_to_the_same():
    rng = np.random.default_rng(0)
    paths = NATIVE.code_paths()
    assert paths[-1] == "plain"
    for dims in (1, 32, 33, 384, 2000):
        codes = rng.integers(-127, 128, (301, width_of(dims)), dtype=np.int8)
        largest = min(32767, (2**31 - 1) // (127 * dims))
        u = np.zeros(width_of(dims), np.int16)
        for drawn in (rng.integers(-largest, largest + 1, dims), np.full(dims, largest), np.full(dims, -largest)):
            u[:dims] = drawn
            codes[0] = 127
            right = (codes.astype(np.int64) @ u.astype(np.int64)).tolist()
            for path in paths:
                assert NATIVE.code_products(codes, u, path).tolist() == right, path


@needs_kernel
@pytest.mark.parametrize("count", [1, 2, 5])
def test_threads_and_paths_do_not_change_the_list(count, monkeypatch):
    rows, q = clustered(60_000, 48)
    rows, q = rows.astype(np.float32), q.astype(np.float32)
    codes = encode(rows)
    right = all_compared(rows, q, 100)
    for path in NATIVE.code_paths():
        row, score, _ = NATIVE.nearest_rows(codes.code, codes.scale, codes.error, rows, q, 100, None, count, path)
        assert (row.tolist(), score.tolist()) == right


@needs_kernel
def test_the_kernel_refuses_what_does_not_fit():
    rows, q = np.ones((4, 8), np.float32), np.ones(8, np.float32)
    codes = encode(rows)
    parts = (codes.code, codes.scale, codes.error)
    with pytest.raises(ValueError, match="a number for each column"):
        NATIVE.nearest_rows(*parts, rows, q[:5], 1, None, 1)
    with pytest.raises(ValueError, match="a mark for each row"):
        NATIVE.nearest_rows(*parts, rows, q, 1, np.ones(3, bool), 1)
    with pytest.raises(ValueError, match="a scale and an error for each row"):
        NATIVE.nearest_rows(codes.code, codes.scale[:2], codes.error, rows, q, 1, None, 1)
    with pytest.raises(ValueError, match="no path sse9"):
        NATIVE.nearest_rows(*parts, rows, q, 1, None, 1, "sse9")
    with pytest.raises(ValueError, match="the query is finite"):
        NATIVE.nearest_rows(*parts, rows, np.full(8, np.nan, np.float32), 1, None, 1)


def test_blocks_of_the_twin(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 64)
    rows, q = clustered(1000, 16)
    with using("python"):
        check(rows, q, 50)
