"""Mangled files: whatever is done to a valid document, only a FabulaError comes out, and soon."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabula import io
from fabula.core.errors import FabulaError
from fabula.core.notes import Notes
from fabula.data import segments
from fabula.data.stories import Corpus
from tests.io.story_toys import DOCUMENTS

NAMES = sorted(DOCUMENTS)
fuzzing = settings(
    max_examples=30,
    deadline=5000,  # milliseconds for one document of a few hundred bytes: nothing here may be slow
    suppress_health_check=[HealthCheck.too_slow],
)

odd = st.sampled_from(
    [float("nan"), float("inf"), -1, 0, 10**400, 1e308, "", "\ud800", "{n}", "v_kite", True, None, [], {}, [[]], [0, 1]]
)
values = st.recursive(
    odd | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=5,
)


def places(document: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value in the document, the root's first."""
    inside: list[tuple[Any, Any]] = []
    if isinstance(document, dict):
        inside = list(document.items())
    elif isinstance(document, list):
        inside = list(enumerate(document))
    return [here, *(path for key, value in inside for path in places(value, (*here, key)))]


def changed(document: Any, path: tuple[Any, ...], how: str, value: Any) -> Any:
    """A copy in which the value at this path is replaced, removed, doubled or renamed."""
    if not path:
        return value
    copy = document.copy()
    key, rest = path[0], path[1:]
    if rest:
        copy[key] = changed(copy[key], rest, how, value)
    elif how == "remove":
        del copy[key]
    elif how == "double" and isinstance(copy, list):
        copy.append(copy[key])
    elif how == "rename" and isinstance(copy, dict):
        copy[str(value)[:20]] = copy.pop(key)
    else:
        copy[key] = value
    return copy


@st.composite
def mangled(draw: st.DrawFn, name: str) -> Any:
    document = DOCUMENTS[name]
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(document)))
        how = draw(st.sampled_from(["replace", "remove", "double", "rename"]))
        document = changed(document, path, how, draw(values))
    return document


@st.composite
def broken(draw: st.DrawFn, data: bytes) -> bytes:
    """Bytes with pieces cut out, put in, or written over; perhaps cut short."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 8)))
        data = (
            data[:start]
            + draw(st.binary(max_size=8) | st.sampled_from([b'"', b"{", b"]", b"\\", b"9", b","]))
            + data[end:]
        )
    return data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data


def serialised(name: str, document: Any) -> bytes:
    if name in ("fabula", "lmms-samples") and isinstance(document, list):
        return "".join(json.dumps(line) + "\n" for line in document).encode()
    if name in ("srt", "vtt") and isinstance(document, str):
        return document.encode(errors="replace")
    return json.dumps(document).encode()


def file_of(name: str) -> str:
    return {"fabula": "f.jsonl", "srt": "f.srt", "vtt": "f.vtt"}.get(name, "f.json")


def survives(path: Path, format: str | None) -> None:
    """The file is read, checked, printed and written, or refused in one line."""
    try:
        corpus, notes = io.read(path, format)
        segments.check_predictions(corpus, notes)
        segments.check_references(corpus, notes, ["swap", "clip", "drop"])
        "\n".join(notes.lines()).encode()
        for writer in ("fabula", "pdvc", "youcook2:x", "activitynet", "vtt"):
            try:
                target = path.with_name("captions" if writer == "vtt" else "out")
                "\n".join(io.write(corpus, target, writer).lines()).encode()
            except FabulaError as error:  # NaN in a header: no JSON can hold it
                one_line(error)
    except FabulaError as error:
        one_line(error)


def one_line(error: FabulaError) -> None:
    text = str(error)
    assert "\n" not in text
    assert len(text) < 2000
    text.encode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize("name", NAMES)
@fuzzing
@given(data=st.data())
def test_values_out_of_place(name: str, folder: Path, data: st.DataObject) -> None:
    path = folder / file_of(name)
    path.write_bytes(serialised(name, data.draw(mangled(name))))
    survives(path, data.draw(st.sampled_from([None, name])))


@pytest.mark.parametrize("name", NAMES)
@fuzzing
@given(data=st.data())
def test_bytes_out_of_place(name: str, folder: Path, data: st.DataObject) -> None:
    path = folder / file_of(name)
    path.write_bytes(data.draw(broken(serialised(name, DOCUMENTS[name]))))
    survives(path, data.draw(st.sampled_from([None, name])))


@pytest.mark.parametrize("name", ["fabula", "submission"])
@fuzzing
@given(data=st.data())
def test_packed_bytes_out_of_place(name: str, folder: Path, data: st.DataObject) -> None:
    path = folder / ("f.jsonl.gz" if name == "fabula" else "f.json.gz")
    path.write_bytes(data.draw(broken(gzip.compress(serialised(name, DOCUMENTS[name]), mtime=0))))
    survives(path, None)


@fuzzing
@given(document=values, format=st.none() | st.sampled_from([*NAMES, "youcook2:training", "youcook2:"]))
def test_any_document_under_any_name(document: Any, format: str | None, folder: Path) -> None:
    path = folder / "any.json"
    path.write_bytes(json.dumps(document).encode())
    survives(path, format)


@fuzzing
@given(content=st.binary(max_size=200), format=st.none() | st.sampled_from(NAMES))
def test_any_bytes_under_any_name(content: bytes, format: str | None, folder: Path) -> None:
    path = folder / "any.bin"
    path.write_bytes(content)
    survives(path, format)


def test_the_valid_documents_survive_whole(folder: Path) -> None:
    for name in NAMES:
        path = folder / "whole"
        path.write_bytes(serialised(name, DOCUMENTS[name]))
        corpus, notes = io.read(path, name)
        assert isinstance(corpus, Corpus)
        assert isinstance(notes, Notes)
        survives(path, name)
