"""Records as columns: both kernels on any text, every cut; and the plain lane says what the slow one says."""

import gzip
import json
import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fabula import _kernels
from fabula.core.errors import InputError
from fabula.core.notes import Notes
from fabula.data.moments import Queries, Rankings, VideoNumbers
from fabula.documents.document import open_document
from fabula.documents.records import BEGINS, Odd, Records, Shape, parse_odd_line, read_line_records, read_members
from fabula.documents.records.plain import Read, find_extent, find_extent_python, parse_number, scan_records
from fabula.io import moments
from tests.moment_toys import lines

ALL = Shape(
    (
        ("id", "id"),
        ("name", "name"),
        ("word", "word"),
        ("text", "text"),
        ("number", "number"),
        ("span", "window"),
        ("spans", "windows"),
        ("either", "either"),
        ("rows", "table"),
        ("skip", "skip"),
        ("list", "numbers"),
        ("clips", "wholes"),
    )
)
RECORD = {
    "id": 7,
    "name": "a",
    "word": "w",
    "text": "t",
    "number": 1.5,
    "span": [0, 1],
    "spans": [[0, 1], [2, 3.5]],
    "either": [4, 5],
    "rows": [[1, 2, 3], [4, 5, 6]],
    "skip": None,
    "list": [1, -2.5],
    "clips": [0, 3],
}
needs_kernels = pytest.mark.skipif(_kernels.NATIVE is None, reason="this install has no compiled kernels")


def read_text(text: bytes, lines: bool = True, shape: Shape = ALL) -> Read:
    return scan_records(bytearray(text + b"\0"), 0, len(text), lines, shape)


def told(found: Read) -> list:
    """What was read, as something that can be compared."""

    def value(column):
        if isinstance(column, tuple):
            return [value(c) for c in column]
        return (column.shape, column.tobytes()) if isinstance(column, np.ndarray) else column

    return [*found[:4], [value(c) for c in found.columns]]


def agreed(text: bytes, lines: bool, shape: Shape = ALL) -> Read:
    with _kernels.using("native"):
        fast = read_text(text, lines, shape)
    with _kernels.using("python"):
        slow = read_text(text, lines, shape)
    assert told(fast) == told(slow)
    return fast


def test_columns(kernels):
    other = {**RECORD, "id": "é", "either": [[6, 7], [8, 9]], "rows": [], "text": None, "list": [], "clips": [5]}
    del other["word"], other["number"]
    found = read_text("\n".join(json.dumps(r) for r in (RECORD, other)).encode())
    assert (found.ended, found.newlines, found.n) == (True, 1, 2)
    ids, names, words, texts, numbers, span, spans, either, rows, skipped, listed, clips = found.columns
    assert (ids, names, words, texts, skipped) == ([7, "é"], ["a", "a"], ["w", None], ["t", None], None)
    assert numbers[0] == 1.5
    assert np.isnan(numbers[1])
    assert [c.tolist() for c in span] == [[[0, 1], [0, 1]], [1, 1]]
    assert spans[1].tolist() == [2, 2]
    assert [c.tolist() for c in either] == [[[4, 5], [6, 7], [8, 9]], [1, 2]]
    assert [c.tolist() for c in rows] == [[1, 2, 3, 4, 5, 6], [[2, 3], [0, 0]]]
    assert [c.tolist() for c in listed] == [[1, -2.5], [2, 0]]
    assert [c.tolist() for c in clips] == [[0, 3, 5], [2, 1]]
    assert clips[0].dtype == np.int64


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("id", "1.0"),
        ("id", "1234567890123456789"),
        ("id", "01"),
        ("id", "true"),
        ("id", "null"),
        ("name", "null"),
        ("name", "3"),
        ("name", '"\\ud800"'),
        ("name", '"\\x"'),
        ("name", '"a\tb"'),
        ("word", "null"),
        ("text", "3"),
        ("text", f'"{"x" * 100_001}"'),
        ("number", "NaN"),
        ("number", "1e999"),
        ("number", '"1"'),
        ("span", "[1]"),
        ("span", "[1, 2, 3]"),
        ("span", "[[1, 2]]"),
        ("spans", "[1, 2]"),
        ("spans", "[]"),
        ("spans", "[[1, 2], [3]]"),
        ("rows", "[[1, 2], [3]]"),
        ("rows", "[[]]"),
        ("rows", "[1, 2]"),
        ("rows", "null"),
        ("skip", "[1]"),
        ("skip", "{}"),
        ("skip", "Infinity"),
        ("list", "[NaN]"),
        ("list", "[1, [2]]"),
        ("list", '["1"]'),
        ("list", "3"),
        ("list", "[1,]"),
        ("list", "null"),
        ("clips", "[1.0]"),
        ("clips", "[-1]"),
        ("clips", "[1e3]"),
        ("clips", "[1234567890123456789]"),
        ("clips", "[true]"),
        ("clips", "[01]"),
    ],
)
def test_what_is_not_plain_is_left_alone(key, value, kernels):
    good = json.dumps(RECORD)
    bad = "{" + ", ".join(f'"{k}": {value if k == key else json.dumps(v)}' for k, v in RECORD.items()) + "}"
    found = read_text(f"{good}\n\n{bad}\n{good}".encode())
    assert (found.stop, found.ended, found.newlines, found.n) == (len(good) + 2, False, 2, 1)


@pytest.mark.parametrize(
    "bad",
    ["{}", '{"id": 1}', "[1]", "7", '{"id": 1, "id": 2}', '{"x": 1}', '{"id" 1}', "{", "", "}", '{"i\\u0064": 1}'],
)
def test_records_that_are_none(bad, kernels):
    found = read_text(f"{bad}, ".encode(), lines=False)
    assert (found.stop, found.ended, found.n) == (0, False, 0)


def test_bytes_that_are_no_utf_8(kernels):
    shape = Shape((("id", "id"),), others=True)
    found = read_text(b'{"id": 1, "x": "\xc3\xa9"}\n{"id": 2, "x": "\xc3"}\n{"id": "\xff"}', shape=shape)
    assert (found.n, found.newlines, found.columns) == (1, 1, [[1]])
    assert read_text(b'{"id": "\xff"}', shape=shape).n == 0


def test_other_fields(kernels):
    text = b'{"id": 1, "x": "\\"", "y": -1.5e3}'
    assert read_text(text, shape=Shape((("id", "id"),), others=True)).columns == [[1]]
    assert read_text(text, shape=Shape((("id", "id"),))).n == 0
    assert read_text(b'{"id": 1, "x": 1, "x": 2}', shape=Shape((("id", "id"),), others=True)).n == 0


def test_elements_up_to_the_end_of_the_list(kernels):
    shape = Shape((("id", "id"),))
    assert read_text(b'{"id": 1} , {"id": 2}\n]  , 7', False, shape)[:4] == (25, True, 0, 2)
    assert read_text(b'{"id": 1}, ]', False, shape)[:4] == (11, False, 0, 1)
    assert read_text(b'{"id": 1}', False, shape)[:4] == (0, False, 0, 0)


numbers = st.integers(-(10**19), 10**19) | st.floats() | st.booleans()
values = st.recursive(
    st.none() | numbers | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=5,
)
fields = {
    "id": st.integers() | st.text(max_size=5) | values,
    "name": st.text(max_size=5) | values,
    "number": numbers | values,
    "either": st.lists(numbers, max_size=3) | st.lists(st.lists(numbers, min_size=2, max_size=2), max_size=3),
    "rows": st.lists(st.lists(numbers, min_size=2, max_size=3), max_size=3) | values,
}
SOME = Shape(tuple((key, "table" if key == "rows" else key) for key in fields), others=True)


@needs_kernels
@given(st.lists(st.fixed_dictionaries(fields, optional={"x": values}), max_size=4), st.booleans(), st.booleans())
def test_both_kernels_agree_on_any_record(some, lines, ascii_only):
    text = ("\n" if lines else ",").join(json.dumps(r, ensure_ascii=ascii_only) for r in some)
    agreed(text.encode(errors="surrogatepass") + (b"" if lines else b"]"), lines, SOME)


BITS = [b"", b'"', b"\\", b"\\u12", b"]", b"}", b"[", b",", b"\n", b"\0", b"\xff", b"\xc3\xa9", b"e5", b"-", b"."]


@needs_kernels
@given(st.data(), st.booleans())
def test_both_kernels_agree_on_any_text(data, lines):
    text = bytearray((json.dumps(RECORD) + ("\n" if lines else ",")).encode() * 3)
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.sampled_from(BITS))
    agreed(bytes(text[: data.draw(st.integers(0, len(text)))]), lines)


@needs_kernels
@given(st.text(alphabet='[]{},:"\\ \n1a\0'))
@example('"\\"')
def test_both_kernels_agree_where_a_value_ends(text):
    data = bytearray(text.encode() + b"\0")
    with _kernels.using("native"):
        fast = find_extent(data, 0, len(data) - 1)
    assert fast == find_extent_python(data, 0, len(data) - 1)


@given(values, st.sampled_from([",", " ", "]", "}", "\n"]))
def test_where_a_value_ends(value, behind):
    text = json.dumps(value)
    data = bytearray((text + behind + "1, 2]\0").encode())
    assert find_extent(data, 0, len(data) - 1) == len(text)


def test_a_text_that_does_not_end_in_nul_is_refused():
    if _kernels.NATIVE is None:
        pytest.skip("this install has no compiled kernels")
    with pytest.raises(ValueError, match="NUL"):
        _kernels.NATIVE.records(b"{}", 0, 1, True, (), True, json.loads)


@pytest.mark.parametrize("chunk", [1, 7, 50, 1000])
def test_lines_in_pieces_of_any_size(tmp_path, chunk, kernels):
    entries = [{"id": i, "rows": [[i, 0.5]] * i} if i % 4 else {"id": [i]} for i in range(12)]
    path = tmp_path / "d.jsonl.gz"
    path.write_bytes(gzip.compress("\n\n".join(map(json.dumps, entries)).encode()))
    found = []
    for some in read_line_records(path, Shape((("id", "id"), ("rows", "table"))), chunk):
        if isinstance(some, Odd):
            found += [(n, e["id"][0]) for n, e in parse_odd_line(some, path)]
        else:
            found += [(2 * id + 1, id) for id in some["id"]]
            assert some["rows"][1][:, 0].tolist() == some["id"]
    assert found == [(2 * i + 1, i) for i in range(12)]


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 20, 1000])
def test_a_document_in_pieces_of_any_size(tmp_path, chunk, kernels):
    entries = [{"id": i, "rows": [[i, i + 0.25]] * i} if i % 3 else {"id": i, "rows": None} for i in range(8)]
    document = {"a": {"é": 1}, "L": entries, "n": -1.5e3, "M": [], "N": None, "b": "]"}
    path = tmp_path / "d.json"
    path.write_text(" " + json.dumps(document, ensure_ascii=False) + "\n")
    found: dict = {}
    for key, value in read_members(path, ("L", "M", "N"), Shape((("id", "id"), ("rows", "table"))), chunk):
        if value is BEGINS:
            found[key] = []
        elif isinstance(value, Records):
            found[key] += value["id"]
        elif isinstance(value, Odd):
            assert len(found[key]) == value.place
            found[key].append(json.loads(value.text)["id"])
        else:
            found[key] = value
    assert found == {**document, "L": list(range(8))}
    assert list(found) == list(document)


@pytest.mark.parametrize(
    "text", ['{"a": 1} x', '{"a": \ufeff1}', '{"a": 1,}', '{"a" 1}', '{"a": 1, "a": 1}', '{"L": [1 2]}']
)
def test_documents_that_are_none(tmp_path, text, kernels):
    path = tmp_path / "d.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"not JSON|stands twice"):
        list(read_members(path, ("L",), ALL))
    path.write_text("\ufeff{}")
    assert list(read_members(path, ("L",), ALL)) == []


# The plain lane against the slow one: the same values, the same complaints -------------------------------------------

QUERY = '{"desc_id": %d, "vid_name": "a", "ts": [1.5, 4], "duration": 9.0, "desc": "he says \\"no\\"", "type": "v"}\n'
OWN = '{"id": %d, "video": "a", "windows": [[1.5, 4], [5, 6]], "duration": 9, "text": "caf\u00e9"}\n'
ENTRY = '{"desc_id": %d, "desc": "x", "predictions": [[0, 1.5, 4, 0.5], [1, 2, 3, 0.25]]}'
PIECES = ['"', "\\", "]", "}", "[", "{", ",", ":", "\n", " ", "é", "\ud800", "\0", "1", "-", ".", "e", "NaN", "null"]
PIECES += [
    "1e999",
    '"x"',
    "true",
    "\\ud800",
    "[1, 2]",
    '"desc_id": 1, ',
    '"id": 1, ',
    '"task": "SVMR", ',
    "\ufeff",
    "2",
]


def nothing_is_plain(text, at, end, lines, shape):
    """Every record is odd: what this reader did before there was a plain lane."""
    while lines and at < end and text[at] in b" \t\r\n":
        at += 1
        if text[at - 1] == 10:
            return Read(at, at == end, 1, 0, [])
    return Read(at, at == end, 0, 0, [])


def outcome(reading) -> object:
    try:
        return reading()
    except InputError as error:
        return str(error)


def broken(rng: random.Random, text: str) -> bytes:
    for _ in range(rng.choice([0, 1, 1, 2])):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(PIECES) + text[at + rng.choice([0, 0, 1, 3]) :]
    if rng.random() < 0.2:
        text = text[: rng.randrange(len(text) + 1)]
    return text.encode(errors="surrogatepass")


def all_queries(path):
    notes = Notes()
    return moments.read_queries(
        [path], notes, "tvr" if path.name == "tvr.jsonl" else "moment-lines", judged=False
    ), notes


def all_answers(path):
    numbers, notes = VideoNumbers(), Notes()
    stream, _ = moments.read_rankings(
        path, numbers, notes, "tvr-lines" if path.suffix == ".jsonl" else "tvr-predictions"
    )
    each = [(name, one) for name, some in stream for one in (some if isinstance(some, Rankings) else [some])]
    scores = [None if r.scores is None else r.scores.tolist() for _, r in each]
    found = [(name, r.id, r.spans.tolist(), r.videos.tolist()) for name, r in each]
    return found, scores, dict(numbers), notes


@pytest.mark.parametrize("seed", range(150))
@pytest.mark.parametrize("shape", ["tvr.jsonl", "own.jsonl", "entries.jsonl", "document.json"])
def test_broken_files_get_the_same_words(tmp_path, monkeypatch, shape, seed):
    rng = random.Random(f"{shape} {seed}")
    numbered = '"video2idx": {"a": 0, "b": 1}'
    text = {
        "tvr.jsonl": "".join(QUERY % i for i in range(3)),
        "own.jsonl": "".join(OWN % i for i in range(3)),
        "entries.jsonl": f"{{{numbered}}}\n" + "".join(f"{ENTRY % i}\n" for i in range(3)),
        "document.json": f'{{{numbered}, "VCMR": [{", ".join(ENTRY % i for i in range(3))}], "SVMR": []}}',
    }[shape]
    path = tmp_path / shape
    path.write_bytes(broken(rng, text))
    reading = all_queries if shape in ("tvr.jsonl", "own.jsonl") else all_answers
    plain = outcome(lambda: reading(path))
    monkeypatch.setattr("fabula.documents.records.plain.scan_records", nothing_is_plain)
    assert outcome(lambda: reading(path)) == plain


def test_most_of_a_file_is_read_in_the_plain_lane(tmp_path):
    path = lines(tmp_path / "q.jsonl", [json.loads(QUERY % i) for i in range(5)])
    source = moments.Source(path, Notes(), noun="query")
    (some,) = moments.choose_format(open_document(path), None, "references").read_queries(source)
    assert isinstance(some, Queries)
    assert [q.text for q in some] == ['he says "no"'] * 5


@pytest.mark.parametrize("token, negative", [(b"-0", False), (b"-0.0", True), (b"0", False), (b"-0e0", True)])
def test_a_whole_zero_has_no_sign(token, negative):
    assert np.signbit(parse_number(token)) == negative == np.signbit(float(json.loads(token)))
