"""What the cache folder holds is believed only if it is nobody else's, fits together and is what it is known to be."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from fabula.core import cachefile
from fabula.core.cachefile import HEAD, SECTION, Seal, find_distrust, load, make_digest, make_folder, write

SEAL = Seal(b"FABULA-TEST\0\0\0\0\0", 1, b"f" * 32)
SECTIONS = {"first": np.arange(5, dtype=np.uint32), "second": np.arange(3, dtype=np.uint8)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write(tmp_path / "table", SEAL, SECTIONS)
    return tmp_path / "table"


def forge(path: Path, at: int, value: bytes) -> None:
    """Other bytes at a place, and the CRC that fits them."""
    data = bytearray(path.read_bytes())
    data[at : at + len(value)] = value
    data[20:24] = struct.pack("<I", zlib.crc32(data[HEAD.size - 36 :]))
    path.write_bytes(data)


def test_what_was_written_is_read(path: Path) -> None:
    found = load(path, SEAL)
    assert found is not None
    assert {name: array.tolist() for name, array in found.items()} == {k: v.tolist() for k, v in SECTIONS.items()}


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (HEAD.size - 4, struct.pack("<I", 2**32 - 1)),  # sections: more than there is room for
        (HEAD.size - 4, struct.pack("<I", 3)),  # one more, of nothing
        (HEAD.size + 16, b"<f8\0"),  # of another kind
        (HEAD.size + 16, b"|O\0\0"),
        (HEAD.size + 16, b"\xff\xff\xff\xff"),
        (HEAD.size + 20, struct.pack("<Q", 2**63)),  # far behind the end
        (HEAD.size + 20, struct.pack("<Q", 1)),  # within the header, at an odd byte
        (HEAD.size + 28, struct.pack("<Q", 2**62)),  # longer than the file
        (HEAD.size + SECTION.size, b"first\0"),  # the same name twice
    ],
)
def test_a_list_of_sections_that_does_not_fit_is_no_table(path: Path, at: int, value: bytes) -> None:
    forge(path, at, value)
    assert load(path, SEAL) is None


def test_a_forged_crc_does_not_get_by_a_known_digest(path: Path) -> None:
    known = SEAL._replace(digest=make_digest(memoryview(path.read_bytes())[HEAD.size :]))
    assert load(path, known) is not None
    forge(path, path.stat().st_size - 64, b"\7")
    assert load(path, SEAL) is not None
    assert load(path, known) is None


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert load(tmp_path / "pipe", SEAL) is None


def test_a_file_beyond_measure_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.write(HEAD.pack(SEAL.magic, SEAL.version, 0, SEAL.fingerprint, 0))
        file.truncate(1 << 40)
    assert load(tmp_path / "sparse", SEAL) is None


def test_a_digest_has_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = memoryview(bytes(range(256)))
    monkeypatch.setattr(cachefile, "PIECE", 100)
    found = make_digest(whole)
    assert found != make_digest(memoryview(bytes(256)))
    monkeypatch.setattr(cachefile.threading.Thread, "start", lambda self: (_ for _ in ()).throw(RuntimeError))
    assert make_digest(whole) == found


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o775])
def test_a_folder_that_others_may_write_to(path: Path, mode: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cachefile, "is_own_group", lambda number: False)
    assert find_distrust(path) is None
    path.parent.chmod(mode)
    assert find_distrust(path) == f"other users may write to {path.parent} (mode {mode:o})"


def test_a_group_of_the_user_alone_is_no_other(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cachefile, "is_own_group", lambda number: True)
    path.parent.chmod(0o775)
    assert find_distrust(path) is None


def test_a_file_that_others_may_write_to(path: Path) -> None:
    path.chmod(0o606)
    assert find_distrust(path) == f"other users may write to {path} (mode 606)"


def test_a_file_of_somebody_else(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    me = path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    if me == 0:
        assert find_distrust(path) is None  # root's is everybody's to read
        os.chown(path.parent, 4321, -1)
        assert find_distrust(path) == f"{path.parent} belongs to another user (number 4321)"
    else:
        assert find_distrust(path) == f"{path.parent} belongs to another user (number {me})"


def test_where_nothing_is_yet_nothing_is_wrong(tmp_path: Path) -> None:
    assert find_distrust(tmp_path / "none" / "table") is None


def test_a_new_folder_is_the_users_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_folder(tmp_path / "new")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
