"""JSON read in pieces gives what JSON read at once gives."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.core.errors import InputError
from fabula.documents.files import read_elements, read_root

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(values, max_size=6), st.integers(1, 40), st.sampled_from([None, 1]), st.booleans())
def test_any_list_in_pieces_of_any_size(tmp_path_factory, listed, piece, indent, plain):
    path = tmp_path_factory.mktemp("s") / "x.json"
    path.write_text(json.dumps(listed, indent=indent, ensure_ascii=plain), errors="replace")
    expected = json.loads(path.read_text())
    assert list(read_elements(path, piece=piece)) == expected
    path.write_text(json.dumps({"before": [1, {}], "results": listed, "after": "x"}, indent=indent))
    assert list(read_elements(path, "results", piece)) == listed
    assert list(read_elements(path, "nothing", piece)) == []


def test_numbers_at_the_end_of_a_piece_are_read_whole(tmp_path):
    (tmp_path / "x.json").write_text("[12345, 678]")
    for piece in range(1, 13):
        assert list(read_elements(tmp_path / "x.json", piece=piece)) == [12345, 678]


def test_packed_and_marked_files(tmp_path):
    (tmp_path / "x.json.gz").write_bytes(gzip.compress(b"[1, 2]"))
    assert list(read_elements(tmp_path / "x.json.gz")) == [1, 2]
    (tmp_path / "x.json").write_bytes(b"\xef\xbb\xbf[1]")
    assert list(read_elements(tmp_path / "x.json")) == [1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"[1, 2", "ends too early"),
        (b'[1, "ab', "ends too early"),
        (b"[1 2]", "expected , or ], saw '2"),
        (b"[1] 2", "Extra data"),
        (b"[1,]", "not JSON"),
        (b'[\n{"a": 1, "a": 2}]', "stands twice"),
        (b"[\xff]", "not UTF-8"),
        (b"", "too early"),
        (b"{}", r"expected \[, saw"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_broken_files_are_named(tmp_path, text, said):
    path = tmp_path / "x.json"
    path.write_bytes(text)
    for piece in (1, 7, 1 << 20) if len(text) < 100 else (1 << 20,):
        with pytest.raises(InputError, match=said) as caught:
            list(read_elements(path, piece=piece))
        assert "x.json" in str(caught.value) and len(str(caught.value)) < 400


def test_how_a_file_begins(tmp_path):
    path = tmp_path / "x.json"
    for text, expected in [
        ('[{"a": 1, "b": 2}, 3]', ("[", ["a", "b"])),
        ('{"info": {}, "images": [1], "annotations": []}', ("{", ["info", "images"])),
        ("[]", ("[", [])),
        ("[3]", ("[", [])),
    ]:
        path.write_text(text)
        assert read_root(path) == expected
    for text, said in [("", "empty"), ("nonsense", "not JSON"), ("\n 3 x", "not JSON")]:
        path.write_text(text)
        with pytest.raises(InputError, match=said):
            read_root(path)
    with pytest.raises(InputError, match="no such file"):
        read_root(tmp_path / "none.json")


@pytest.mark.parametrize("piece", [1, 3, 1 << 20])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_byte_that_is_not_utf_8_is_named_by_its_place_in_the_file(tmp_path, piece, mark):
    (tmp_path / "x.json").write_bytes(mark + '["ŝ", "'.encode() + b'\xc3("]')
    with pytest.raises(InputError, match=rf"byte {len(mark) + 8} \(0xc3\) is not UTF-8"):
        list(read_elements(tmp_path / "x.json", piece=piece))


def test_utf_16_is_called_by_its_name(tmp_path):
    (tmp_path / "x.json").write_bytes("[1]".encode("utf-16"))
    with pytest.raises(InputError, match="this is UTF-16 or UTF-32, not UTF-8"):
        list(read_elements(tmp_path / "x.json"))
