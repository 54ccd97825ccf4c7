"""Bytes in, bytes out: each way a file can be broken is named, and a write is whole or not at all."""

from __future__ import annotations

import gzip
import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fabula import io
from fabula.core.errors import InputError
from fabula.documents import files

Put = Callable[..., Path]
Refused = Callable[..., InputError]
GOOD = '{"results": {"v": [{"sentence": "a", "timestamp": [0, 1]}]}}'


@pytest.mark.parametrize(
    ("content", "seen", "hint"),
    [
        ("", "the file is empty", "JSON document"),
        (" \n\t ", "the file is empty", "JSON document"),
        (GOOD[:30], "the JSON ends too early", "truncated"),
        (GOOD[:43], "the JSON ends too early", "truncated"),  # inside a string
        (GOOD[:-1], "line 1 column", "truncated"),
        ("{'a': 1}", "not JSON", "mend the file there"),
        ('{"a": 1}\n{"a": 2}', "line 2 column 1: not JSON (Extra data)", ".jsonl"),
        (b'{"results": {"caf\xe9": []}}', "byte 17 (0xe9) is not UTF-8", "save the file as UTF-8"),
        (GOOD.encode("utf-16"), "UTF-16", "save the file as UTF-8"),
        (GOOD.encode("utf-32"), "UTF-16 or UTF-32", "save the file as UTF-8"),
        (GOOD.encode("utf-16-le"), "not JSON", "mend"),
        ("[" * 100_000, "nested too deeply", "no format"),
        ('{"a":' * 100_000, "nested too deeply", "no format"),
        ('{"results": {"v": [], "v": []}}', "the key 'v' stands twice", "keep one"),
        (
            '{"results": {"v": [{"sentence": "a", "timestamp": [0, ' + "9" * 5000 + "]}]}}",
            "not a usable number",
            "mend",
        ),
    ],
)
def test_broken_documents_are_refused(content: str | bytes, seen: str, hint: str, refused: Refused) -> None:
    error = refused(content)
    assert seen in str(error)
    assert hint in str(error)


def test_every_truncation_is_refused(put: Put) -> None:
    for cut in range(len(GOOD)):
        with pytest.raises(InputError, match=r"file\.json: "):
            io.read(put(GOOD[:cut]))


def test_a_byte_order_mark_is_passed_over(put: Put) -> None:
    corpus, _ = io.read(put(b"\xef\xbb\xbf" + GOOD.encode()))
    assert list(corpus) == ["v"]


def test_a_byte_order_mark_inside_a_file_is_not(refused: Refused) -> None:
    error = refused(b'{"id": "a", "events": []}\n\xef\xbb\xbf{"id": "b", "events": []}\n', name="file.jsonl")
    assert error.field == "line 2"


def test_duplicates_are_found_in_linear_time(refused: Refused) -> None:
    keys = ", ".join(f'"k{i}": 0' for i in range(200_000))
    assert "'k199999' stands twice" in str(refused(f'{{{keys}, "k199999": 1}}'))


def test_a_missing_file_a_directory_and_a_strange_path(tmp_path: Path) -> None:
    for path, seen in [
        (tmp_path / "none.json", "none.json: no such file; check the path"),
        (tmp_path / "none.jsonl", "none.jsonl: no such file; check the path"),
        (tmp_path, "is a directory without a file that is read; a folder is read as one set"),
        (tmp_path / ("x" * 5000), "cannot be read"),
        ("a\0b.json", "NUL"),
    ]:
        with pytest.raises(InputError, match=seen):
            io.read(path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file")
def test_an_unreadable_file(put: Put) -> None:
    path = put(GOOD)
    path.chmod(0)
    with pytest.raises(InputError, match="Permission denied"):
        io.read(path)


@pytest.mark.parametrize("name", ["file.json", "file.jsonl"])
def test_an_unreadable_file_for_root_too(name: str, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(GOOD, name)

    def denied(*_: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)
    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(InputError, match=r"cannot be read \(Permission denied\); check the path and its permissions"):
        io.read(path)


PACKED = gzip.compress(GOOD.encode(), mtime=0)
LINE = gzip.compress(b'{"id": "a", "events": []}\n', mtime=0)


@pytest.mark.parametrize(
    ("name", "content", "seen"),
    [
        ("file.json.gz", GOOD.encode(), "ends in .gz but is not gzip"),
        ("file.json.gz", PACKED[:-12], "broken gzip"),
        ("file.json.gz", PACKED[:5], "broken gzip"),
        ("file.json.gz", PACKED[:-8] + b"\0" * 8, "broken gzip"),  # checksum
        ("file.json.gz", PACKED[:12] + b"\xff" * 9 + PACKED[21:], "broken gzip"),
        ("file.jsonl.gz", b"not gzip", "ends in .gz but is not gzip"),
        ("file.jsonl.gz", LINE[:-4], "broken gzip"),
        ("file.jsonl.gz", LINE[:-8] + b"\0" * 8, "broken gzip"),
    ],
)
def test_broken_gzip_is_refused(name: str, content: bytes, seen: str, refused: Refused) -> None:
    assert seen in str(refused(content, name=name))


def test_gzip_is_read_and_the_same_text_packs_to_the_same_bytes(tmp_path: Path, put: Put) -> None:
    corpus, _ = io.read(put(PACKED, "file.json.gz"))
    one, two = tmp_path / "one.json.gz", tmp_path / "two.json.gz"
    for path in (one, two):
        io.write(corpus, path, "submission")
    assert io.read(one)[0].stories == corpus.stories
    assert one.read_bytes() == two.read_bytes()


# Writing ---------------------------------------------------------------------------------------------------


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def failing() -> Iterator[str]:
    yield "half a "
    raise RuntimeError("the pen broke")


@pytest.mark.parametrize("name", ["out.json", "out.json.gz"])
def test_a_failure_in_the_middle_leaves_the_old_file_and_nothing_else(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("old")
    with pytest.raises(RuntimeError, match="the pen broke"):
        files.write_text(path, failing())
    assert path.read_text() == "old"
    assert names(tmp_path) == [name]


def test_a_failure_before_there_was_a_file_leaves_none(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        files.write_text(tmp_path / "out.json", failing())
    assert names(tmp_path) == []


def test_what_cannot_be_written_is_refused_with_its_place(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "folder.json"):
        with pytest.raises(InputError, match="cannot be written"):
            files.write_text(path, ["x"])
    assert names(tmp_path) == []


@pytest.mark.parametrize("document", [{"a": float("nan")}, {"a": float("inf")}, {"a": object()}, {("a",): 1}])
def test_what_json_cannot_hold_is_refused(document: object, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"out\.json: cannot be written .*finite numbers"):
        files.dump_json(tmp_path / "out.json", document)
    assert names(tmp_path) == []


def test_a_document_too_deep_to_write_is_refused(tmp_path: Path) -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InputError, match="cannot be written"):
        files.dump_json(tmp_path / "out.json", deep)


def test_a_lone_surrogate_is_written_as_its_escape(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    files.dump_json(path, ["\ud800", "é", "😀"])
    assert path.read_bytes() == '["\\ud800", "é", "😀"]\n'.encode()
    assert json.loads(path.read_text()) == ["\ud800", "é", "😀"]


def test_a_device_is_written_to_and_stays_a_device(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        files.write_text(pipe, ["through"])
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_symbolic_link_stays_one_and_permissions_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    files.write_text(link, ["new"])
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_long_file_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250)
    files.write_text(path, ["new"])
    assert path.read_text() == "new"


def test_a_symbolic_link_to_itself_is_not_read_but_may_be_replaced(tmp_path: Path) -> None:
    loop = tmp_path / "loop.json"
    loop.symlink_to(loop)
    with pytest.raises(InputError, match="cannot be read"):
        io.read(loop)
    files.write_text(loop, ["new"])
    assert loop.read_text() == "new"
