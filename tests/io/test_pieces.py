"""Parquet and folders give what one file of lines gives; pieces read apart give what the whole gives."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula import io
from fabula.core.errors import InputError, MissingExtra, SpecError
from fabula.data.stories import Corpus, Story
from fabula.documents import parquet
from fabula.documents.fields import Source
from fabula.io import pieces as cutting
from tests.io.story_toys import corpus_of, seconds, stories, words
from tests.toys import corpus


@given(told=stories(st.none() | words, st.none() | seconds))
def test_parquet_carries_everything(told: list[Story], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("p") / "x.parquet"
    before = corpus_of(told)
    assert io.write(before, path, "fabula").lines() == []
    after, notes = io.read(path)
    assert dict(after) == dict(before) and list(after) == list(before)
    assert after.format == "fabula" and len(notes.lines()) == (0 if told else 1)


def many(n: int = 50) -> Corpus:
    return corpus({f"v{i}": [(0, i + 1, "a dog"), (2, 3)] for i in range(n)})


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "parquet"])
@pytest.mark.parametrize("size", [1, 300, 10_000_000])
def test_pieces_are_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, size: int) -> None:
    monkeypatch.setattr(parquet, "GROUP", 7)
    monkeypatch.setattr(cutting, "READ", 100)
    path = tmp_path / f"x.{ending}"
    io.write(many(), path, "fabula")
    pieces, digest = cutting.cut_file(path, size)
    found = [entry for piece in pieces for entry in io.read_piece(piece, Source(path))]
    assert [n for n, _ in found] == list(range(1, 51))
    assert [story for _, story in found] == list(many().values())
    assert (len(pieces) > 1) == (size < 1000 and ending != "jsonl.gz")
    path.write_bytes(path.read_bytes() + b"\n")
    assert ending == "parquet" or cutting.cut_file(path, size)[1] != digest


def test_blank_lines_are_counted_and_a_last_line_needs_no_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "READ", 40)
    path = tmp_path / "x.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"id": "a", "events": []}\n\n\r\n{"id": "b", "events": []}\n\n{"id": "c", "events": []}'
    )
    pieces, _ = cutting.cut_file(path, 1)
    assert len(pieces) > 1
    assert [(n, s.id) for p in pieces for n, s in io.read_piece(p, Source(path))] == [(1, "a"), (4, "b"), (6, "c")]


def test_a_piece_can_be_read_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    io.write(many(3), tmp_path / "x.jsonl", "fabula")
    monkeypatch.chdir(tmp_path)
    found = io.cut_pieces("x.jsonl")
    assert found is not None
    os.chdir("/")
    assert len(list(io.read_piece(found[0][0], Source(Path("x.jsonl"))))) == 3


def test_a_folder_is_one_corpus(tmp_path: Path) -> None:
    whole = list(many().items())
    for i, name in enumerate(["part-0.jsonl", "part-1.jsonl.gz", "part-2.parquet"]):
        io.write(Corpus(dict(whole[i * 17 : i * 17 + 17])), tmp_path / name, "fabula")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "README.md").touch()
    read, notes = io.read(tmp_path)
    assert list(read.items()) == whole and read.name == str(tmp_path)
    assert notes.lines() == [f"1 files of the folder {tmp_path} were skipped: README.md"]
    found = io.cut_pieces(tmp_path)
    assert found is not None and [p.path.name for p in found[0]] == [
        "part-0.jsonl",
        "part-1.jsonl.gz",
        "part-2.parquet",
    ]


def test_a_folder_of_answers_is_read_whole(tmp_path: Path) -> None:
    for i in range(2):
        line = {"id": f"v{i}", "answer": "From 1 to 2 seconds, a dog runs."}
        (tmp_path / f"{i}.jsonl").write_text(json.dumps(line) + "\n")
    assert io.cut_pieces(tmp_path) is None
    read, _ = io.read(tmp_path)
    assert list(read) == ["v0", "v1"] and read.format == "answers"


def test_folders_that_do_not_fit(tmp_path: Path) -> None:
    io.write(many(3), tmp_path / "a.jsonl", "fabula")
    io.write(many(1), tmp_path / "b.parquet", "fabula")
    with pytest.raises(InputError, match=r"b\.parquet: video 'v0': this video id stands twice, first in a\.jsonl;"):
        io.read(tmp_path)
    (tmp_path / "b.parquet").unlink()
    (tmp_path / "c.jsonl").write_text(json.dumps({"id": "w", "answer": "1 - 2: it"}) + "\n")
    with pytest.raises(InputError, match="holds files of several formats: fabula, answers"):
        io.read(tmp_path)


def table(path: Path, **columns: object) -> Path:
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"id": ["a"]}, "row 1: the key 'events' is missing; it has 'id'"),
        ({"id": [5], "events": [[]]}, "row 1 id: expected text, saw the number 5"),
        ({"id": ["a", None], "events": [[], []]}, "row 2: the key 'id' is missing"),
        ({"id": ["a"], "events": [[{"start": 0.0}]]}, r"video 'a': row 1 events\[0\]: the key 'end' is missing"),
        ({"id": ["a"], "events": [[{"start": 0.0, "end": float("nan")}]]}, "expected a finite number, saw nan"),
        (
            {"id": ["a", "b", "a"], "events": [[], [], []]},
            "row 3: this video id stands twice, first on row 1",
        ),
    ],
)
def test_faults_in_parquet_name_the_row(tmp_path: Path, columns: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        io.read(table(tmp_path / "x.parquet", **columns))


def test_unused_columns_are_noted(tmp_path: Path) -> None:
    path = table(tmp_path / "x.parquet", id=["a", "b"], events=[[], []], split=["val", None])
    assert io.read(path)[1].lines() == ["fields of videos that were not used: 'split' (1)"]


@pytest.mark.parametrize("content", [b"", b"PAR1", b'{"id": 1}', gzip.compress(b"x" * 99, mtime=0)])
def test_what_is_not_parquet(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.parquet").write_bytes(content)
    with pytest.raises(InputError, match=r"x\.parquet: not Parquet that can be read"):
        io.read(tmp_path / "x.parquet")


def test_parquet_of_another_format_and_without_arrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.parquet"
    with pytest.raises(SpecError, match="Parquet holds the format 'fabula', not 'submission'"):
        io.write(many(), path, "submission")
    assert not path.exists()
    io.write(many(), path, "fabula")
    with pytest.raises(SpecError, match="Parquet holds the format 'fabula', not 'answers'"):
        io.read(path, "answers")
    with pytest.raises(InputError, match="no such file"):
        io.read(tmp_path / "none.parquet")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"reading \.parquet needs .* \[parquet\]; install it with: pip install '"):
        io.read(path)
