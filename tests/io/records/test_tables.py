"""Tables lifted out of JSON: both kernels, every cut, and what is no table."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula import _kernels
from fabula.documents.records import Tables, find_mark, read_line_pieces, tables
from tests.twins.records import lift_tables_python


def lift_tables(text, key, first=0):
    """By the kernel, or by its twin where there is none."""
    return (lift_tables_python if _kernels.native() is None else tables.lift_tables)(text, key, first)


PLAIN = [
    b"[]",
    b"[[1, 2.5], [3, -4e2]]",
    b"[ [ 1 , 2 ]\n,[3,4] ]",
    b"[[0.12345678901234567, 1e-400, 123456789012345678901234567890]]",
    b"[[0, -0.0, 1E5, 1e+5]]",
]
NOT_PLAIN = [
    b"[[1], [2, 3]]",
    b'[[1, "a"]]',
    b"[[01]]",
    b"[[1e999]]",
    b"[[NaN]]",
    b"[[-]]",
    b"[[1.]]",
    b"[[.5]]",
    b"[[+1]]",
    b"[[]]",
    b"[[1,],]",
    b"[1, 2]",
    b"[[true]]",
    b"null",
]


@pytest.mark.parametrize("text", PLAIN)
def test_a_table_is_lifted(text, kernels):
    left, values, shapes = lift_tables(b'{"rows": ' + text + b', "x": 1}', "rows", first=5)
    expected = json.loads(text)
    assert json.loads(left) == {"rows": "\x005", "x": 1}
    assert shapes.tolist() == [[len(expected), len(expected[0]) if expected else 0]]
    assert values.tolist() == [float(x) for row in expected for x in row]


@pytest.mark.parametrize("text", NOT_PLAIN)
def test_what_is_no_table_stays(text, kernels):
    whole = b'{"rows": ' + text + b"}"
    left, values, shapes = lift_tables(whole, "rows")
    assert (left, len(values), len(shapes)) == (whole, 0, 0)


def test_a_key_inside_a_string_does_no_harm(kernels):
    text = json.dumps({"desc": 'he says "rows": [[1, 2]] twice', "rows": [[3, 4]]}).encode()
    left, values, _ = lift_tables(text, "rows")
    assert json.loads(left)["rows"] == "\x000"
    assert values.tolist() == [3, 4]


def test_several_tables_and_other_uses_of_the_key(kernels):
    text = b'[{"rows":[[1,2]]}, {"rows" : 7}, {"rows":\n[[3,4],[5,6]]}, "rows"]'
    left, values, shapes = lift_tables(text, "rows", first=0)
    assert json.loads(left) == [{"rows": "\x000"}, {"rows": 7}, {"rows": "\x001"}, "rows"]
    assert shapes.tolist() == [[1, 2], [2, 2]]
    assert [t.tolist() for t in Tables(0, values, shapes)] == [[[1, 2]], [[3, 4], [5, 6]]]


@pytest.mark.parametrize("chunk", [1, 30, 1000])
def test_lines_in_pieces_of_any_size(tmp_path, chunk, kernels):
    entries = [{"id": i, "rows": [[i, 0.5]] * i} for i in range(9)]
    path = tmp_path / "d.jsonl.gz"
    path.write_bytes(gzip.compress("\n\n".join(map(json.dumps, entries)).encode()))
    found = []
    for lines, lifted in read_line_pieces(path, "rows", chunk):
        listed = list(lifted)
        for n, e in lines:  # without the kernel, tables stay where they are
            k = find_mark(e["rows"])
            found.append((n, e["id"], e["rows"] if k is None else listed[k - lifted.first].tolist()))
    assert found == [(2 * i + 1, i, entries[i]["rows"]) for i in range(9)]


@pytest.mark.skipif(_kernels.NATIVE is None, reason="this install has no compiled kernels")
@given(
    st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**20), 10**20), min_size=1))
)
def test_numbers_are_read_as_python_reads_them(rows):
    text = json.dumps({"rows": rows}).encode()
    with _kernels.using("native"):
        left, values, shapes = lift_tables(text, "rows")
    if len({len(r) for r in rows}) > 1:
        assert left == text
        return
    assert values.tobytes() == np.array([float(x) for r in rows for x in r], dtype=np.float64).tobytes()
    again = lift_tables_python(text, "rows", 0)
    assert (left, values.tolist(), shapes.tolist()) == (again[0], again[1].tolist(), again[2].tolist())


@pytest.mark.skipif(_kernels.NATIVE is None, reason="this install has no compiled kernels")
@given(st.text(alphabet='[]{},:.-+eE0123456789 "rows\n', max_size=60))
def test_both_kernels_agree_on_any_text(text):
    data = b'"rows":' + text.encode()
    with _kernels.using("native"):
        left, values, shapes = lift_tables(data, "rows")
    again = lift_tables_python(data, "rows", 0)
    assert (left, values.tolist(), shapes.tolist()) == (again[0], again[1].tolist(), again[2].tolist())


def test_a_whole_zero_has_no_sign():
    _, values, _ = lift_tables(b'{"rows": [[-0, -0.0, 0, -0e0]], "x": 1}', "rows")
    assert np.signbit(values).tolist() == [False, True, False, True]
