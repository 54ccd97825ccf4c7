"""Standard output and error as shells hand them over: full, closed, of another encoding."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.toys import notes_of

START = "from fabula.verbs.command_line import main; main()"


def shell(*typed, ends="", **environment):
    """fabula in a process of its own; `ends` is what a shell adds, such as > /dev/full."""
    quoted = " ".join(f"'{word}'" for word in (sys.executable, "-c", START, *typed))
    return subprocess.run(
        ["sh", "-c", f"{quoted} {ends}"], capture_output=True, timeout=60, env={**os.environ, **environment}
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("typed", [("list", "metrics"), ("--help",), ("list", "--help")])
def test_a_full_disk_costs_one_line(typed):
    ran = shell(*typed, ends="> /dev/full")
    assert ran.returncode == 2
    why = b"standard output cannot be written (No space left on device); check where it goes"
    assert ran.stderr == b"fabula: error: " + why + b"\n"


def test_closed_output_is_no_error():
    assert shell("list", "tasks", ends=">&-").stderr == b""
    assert shell("list", "tasks", ends=">&-").returncode == 0
    assert shell("score", "none.json", "--refs", "none.json", ends="2>&-").returncode == 2


def test_an_encoding_without_the_character(tmp_path):
    """Latin-1 has no check mark, no arrow and no ŝ."""
    ran = shell("doctor", PYTHONIOENCODING="latin-1")
    assert ran.returncode == 0 and rb"\u2713" in ran.stdout
    (tmp_path / "ŝ.json").write_text("")
    ran = shell("lint", str(tmp_path / "ŝ.json"), PYTHONIOENCODING="latin-1")
    assert ran.returncode == 2 and ran.stderr.startswith(b"fabula: error: ") and rb"\u015d.json" in ran.stderr


def test_no_color_means_none(monkeypatch, capfd):
    from fabula.verbs.terminal.console import print_note

    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda stream=None, color=None: color is False)
    print_note("error: x", style="red")
    assert capfd.readouterr().err == "fabula: error: x\n"


def test_lines_of_progress_where_there_is_no_terminal(monkeypatch, capsys):
    from fabula.verbs.terminal import console as _console

    now = [100.0]
    monkeypatch.setattr(_console.time, "monotonic", lambda: now[0])
    with _console.show_progress() as progress:
        for i in range(61):  # a step a second
            progress("SODA_c", i, 60)
            now[0] += 1
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"fabula: SODA_c: {i} of 60 ({100 * i // 60} %)" for i in (10, 20, 30, 40, 50, 60)]
    with _console.show_training(talks=False) as watch:
        now[0] += 100
        watch("epoch 1", 1, 2)
    with _console.show_training() as watch:
        watch("epoch 1: loss 2.0", 0, 0)
        now[0] += 11
        watch("epoch 1: loss 1.5", 3, 0)
    assert capsys.readouterr().err.splitlines() == ["fabula: epoch 1: loss 1.5: 3 so far"]


def test_lines_of_progress_are_told_from_the_rest(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """A run on a machine under load prints how far it is; tests that count lines leave these out."""
    from fabula.verbs.terminal import console as _console

    monkeypatch.setattr(_console, "EVERY", 0.0)
    tell = _console.tell_progress()
    tell("clips of it's.mkv", 3, 10)
    tell("reading", 3, 0)
    _console.print_note("3 videos, 6 clips → store")
    err = capsys.readouterr().err
    assert err.count("\n") == 3 and notes_of(err) == ["fabula: 3 videos, 6 clips → store"]
