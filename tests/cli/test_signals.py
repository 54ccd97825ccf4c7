"""SIGTERM and SIGINT: the same clean-up, no traceback, the exit code of the signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")

SLOW = """
import sys, time
from pathlib import Path
import click
from fabula.verbs import command_line as cli
from fabula.documents.files import write_bytes

@click.command()
def slow():
    def pieces():
        yield b"half"
        print("ready", flush=True)
        time.sleep(60)
        yield b"whole"
    write_bytes(Path(sys.argv[1]), pieces())

cli.fabula.main = lambda **_: slow.main([], standalone_mode=False)
cli.main()
"""


def start(command, **more):
    """A process that Ctrl-C reaches, however these tests were started."""

    def listen():
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=listen, **more
    )


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_leaves_no_temporary(tmp_path, sent, code):
    command = [sys.executable, "-c", SLOW, str(tmp_path / "out.bin")]
    with start(command) as process:
        assert process.stdout.readline() == "ready\n"
        assert [p.name.startswith(".out.bin.") for p in tmp_path.iterdir()] == [True]
        process.send_signal(sent)
        _, err = process.communicate(timeout=30)
    assert process.returncode == code and err.strip() == "fabula: stopped; no file is left half written"
    assert list(tmp_path.iterdir()) == []


def test_sigterm_ends_a_server_and_what_it_keeps(tmp_path):
    """A server of ours ends in good order, its temporary folder with it."""
    served = """
import tempfile
from fabula.verbs import command_line as cli
from fabula.web.binding import Binding, open_socket, run

async def app(scope, receive, send):
    pass

def main(**_):
    folder = tempfile.TemporaryDirectory(prefix="fabula-previews-")
    with open_socket(Binding(port=0)) as bound:
        print(bound.getsockname()[1], flush=True)
        run(app, bound)

cli.fabula.main = main
cli.main()
"""
    pytest.importorskip("uvicorn", reason="the server needs fabula[web]")
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", served]
    with start(command, env=environment) as process:
        assert process.stdout.readline().strip().isdigit()
        assert any(p.name.startswith("fabula-previews-") for p in tmp_path.iterdir())
        time.sleep(1.0)  # the server takes signals over
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 143 and "Traceback" not in err, err
    assert not [p for p in tmp_path.iterdir() if p.name.startswith("fabula-")]


def test_sigint_while_modules_are_loaded(tmp_path):
    (tmp_path / "click.py").write_text("import sys, time; print('loading', flush=True); time.sleep(60)\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "fabula", "list"]
    with start(command, env=environment) as process:
        assert process.stdout.readline() == "loading\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130 and err == ""
