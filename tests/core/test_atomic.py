"""Whole or not at all: what dead processes left is taken away, what living ones write is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fabula.core import atomic
from fabula.core.errors import InputError
from fabula.documents.files import dump_json, write_bytes, write_text

pytest.importorskip("fcntl", reason="no locks that die with their process")

WRITES = """
import sys, time
from pathlib import Path
from fabula.documents.files import write_bytes
def pieces():
    yield b"half"
    print("writing", flush=True)
    time.sleep(60)
write_bytes(Path(sys.argv[1]), pieces())
"""


def writer(target: Path) -> subprocess.Popen[str]:
    """A process in the middle of writing."""
    process = subprocess.Popen([sys.executable, "-c", WRITES, str(target)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "writing\n"
    return process


def test_what_a_killed_process_left_goes_with_the_next_write(tmp_path):
    target = tmp_path / "out.json"
    with writer(target) as process:
        (left,) = tmp_path.iterdir()
        assert left.name.startswith(".out.json.") and left.suffix == ".tmp"
        write_text(target, ["ours"])
        assert sorted(tmp_path.iterdir()) == sorted([left, target])  # it lives: it is left alone
        process.send_signal(signal.SIGKILL)
    write_text(tmp_path / "other.json", ["of another target"])
    assert left.exists()
    write_text(target, ["ours"])
    assert not left.exists() and target.read_text() == "ours"


def test_files_of_others_stay(tmp_path):
    names = [".out.json.tmp", ".out.json.ABCDEFGH.tmp", "out.json.abcdefgh.tmp", ".out.json.abcdefghi.tmp"]
    for name in names:
        (tmp_path / name).mkdir()
    (tmp_path / ".out.json.abcdefgh.tmp").symlink_to(tmp_path / names[0])
    write_text(tmp_path / "out.json", ["x"])
    assert {f.name for f in tmp_path.iterdir()} == {*names, ".out.json.abcdefgh.tmp", "out.json"}


def test_all_leftovers_of_a_folder_of_our_own(tmp_path):
    dead = tmp_path / "rows" / ".00001.npz.abcd_123.tmp"
    dead.mkdir(parents=True)
    (dead / "file").touch()
    with writer(tmp_path / "rows" / "00002.npz") as process:
        atomic.remove_all_leftovers(tmp_path)
        (living,) = (tmp_path / "rows").iterdir()
        assert living.name.startswith(".00002")
        process.kill()
    atomic.remove_all_leftovers(tmp_path)
    assert not list((tmp_path / "rows").iterdir())


def test_a_sweeper_between_making_and_locking_costs_another_try(tmp_path, monkeypatch):
    made = []
    real = atomic.tempfile.mkdtemp

    def swept_at_once(**where: str) -> str:
        made.append(real(**where))
        if len(made) < 3:
            Path(made[-1]).rmdir()
        return made[-1]

    monkeypatch.setattr(atomic.tempfile, "mkdtemp", swept_at_once)
    with atomic.beside(tmp_path / "out") as folder:
        assert len(made) == 3 and str(folder) == made[-1]
    assert not list(tmp_path.iterdir())


def test_where_nobody_can_lock_nothing_is_taken_away(tmp_path, monkeypatch):
    left = tmp_path / ".out.abcdefgh.tmp"
    left.mkdir()
    monkeypatch.setattr(atomic.fcntl, "flock", lambda *_: (_ for _ in ()).throw(OSError(95, "not supported")))
    write_text(tmp_path / "out", ["x"])
    assert left.exists() and (tmp_path / "out").read_text() == "x"
    monkeypatch.setattr(atomic, "fcntl", None)
    write_text(tmp_path / "out", ["y"])
    assert left.exists() and (tmp_path / "out").read_text() == "y"


def test_a_full_disk_says_so_and_leaves_nothing(tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with pytest.raises(InputError, match=r"/dev/full: cannot be written \(No space left on device\); make room"):
        dump_json(Path("/dev/full"), {"a": 1})

    def pieces():
        yield b"half"
        raise OSError(28, "No space left on device")

    (tmp_path / "out").write_text("before")
    with pytest.raises(InputError, match="No space left on device"):
        write_bytes(tmp_path / "out", pieces())
    assert [f.name for f in tmp_path.iterdir()] == ["out"] and (tmp_path / "out").read_text() == "before"


def test_rights_are_those_of_the_file_that_was_there_or_the_umasks(tmp_path):
    old = os.umask(0o027)
    try:
        write_text(tmp_path / "new", ["x"])
        assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640
        (tmp_path / "new").chmod(0o604)
        write_text(tmp_path / "new", ["y"])
        assert (tmp_path / "new").stat().st_mode & 0o777 == 0o604
    finally:
        os.umask(old)


def test_a_folder_is_replaced_as_one(tmp_path):
    target = tmp_path / "store"
    target.mkdir()
    (target / "old").touch()
    with atomic.beside(target) as folder:
        (folder / "store").mkdir()
        (folder / "store" / "new").touch()
        atomic.take_folder_place(folder / "store", target)
    assert [f.name for f in target.iterdir()] == ["new"] and [f.name for f in tmp_path.iterdir()] == ["store"]


def test_a_folder_that_cannot_be_replaced_stays(tmp_path, monkeypatch):
    target = tmp_path / "store"
    target.mkdir()
    (target / "old").touch()
    with atomic.beside(target) as folder, pytest.raises(FileNotFoundError):
        atomic.take_folder_place(folder / "never made", target)
    assert [f.name for f in target.iterdir()] == ["old"]
