"""fabula serve --store as it is typed: what it says, and one line and exit code 2 for what is wrong."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

pytest.importorskip("fastapi", reason="the server needs fabula[web]")
pytest.importorskip("lancedb", reason="a store needs fabula[search]")
pytest.importorskip("httpx", reason="asking needs fabula[llm]")
pytest.importorskip("av", reason="films are made with fabula[features]")

import httpx

from tests.cli.conftest import fabula
from tests.library.served import make_film, make_store

__all__ = ["fabula"]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("typed")
    make_film(folder / "films" / "flag.mp4", ["red", "blue"])
    return make_store(folder / "store", folder / "films")


@pytest.fixture
def apps(monkeypatch):
    """What would be served; the server itself stops at once."""
    kept: list[object] = []
    monkeypatch.setattr("fabula.web.binding.run", lambda app, bound: (kept.append(app), bound.close()))
    return kept


def test_here_without_a_token_elsewhere_with_one(fabula, library, apps):
    ran = fabula("serve", "--store", library, "--port", 0)
    assert ran.code == 0 and len(apps) == 1
    assert (
        re.search(r"4 clips of \S+ are at http://127\.0\.0\.1:\d+/ \(Ctrl-C stops\)", ran.err) and "stopped" in ran.err
    )
    ran = fabula("serve", "--store", library, "--port", 0, "--origin", "https://films.example.org")
    assert ran.code == 0 and re.search(r"https://films\.example\.org/start\?token=[\w-]{22} ", ran.err)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing to show"),
        (["--store", "nowhere"], "nowhere"),
        (["--store", "."], "store"),
        (["--store", "STORE", "preds.json"], "--store shows a library alone"),
        (["--store", "STORE", "--refs", "refs.json"], "--store shows a library alone"),
        (["--store", "STORE", "--metrics", "SODA_c"], "--store shows a library alone"),
        (["--store", "STORE", "--against", "preds.json"], "--store shows a library alone"),
        (["--store", "STORE", "--host", "0.0.0.0"], "say --origin https://NAME"),
        (["--store", "STORE", "--origin", "http://films.example.org"], "use https://"),
        (["--store", "STORE", "--people", "nobody.npz"], "nobody.npz"),
        (["preds.json", "--refs", "refs.json", "--weights", "w"], "--weights only applies with --store"),
        (["preds.json", "--refs", "refs.json", "--origin", "https://a.org"], "belong to --store"),
    ],
)
def test_what_is_wrong_costs_one_line(fabula, library, apps, words, said):
    ran = fabula("serve", *(str(library) if word == "STORE" else word for word in words), "--port", 0)
    assert ran.code == 2 and said in ran.err and len(ran.err.splitlines()) == 1 and not apps, ran.err


def test_no_root_that_holds_everybodys_files(fabula, library, apps, tmp_path):
    store = shutil.copytree(library, tmp_path / "foreign")
    manifest = json.loads((store / "manifest.json").read_text())
    (store / "manifest.json").write_text(json.dumps({**manifest, "root": "/"}))
    ran = fabula("serve", "--store", store, "--port", 0)
    assert ran.code == 2 and not apps and len(ran.err.splitlines()) == 1, ran.err
    assert "would be served from /, which holds" in ran.err and "--moved" in ran.err


def test_a_port_that_is_taken(fabula, library):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ran = fabula("serve", "--store", library, "--port", taken.getsockname()[1])
    assert ran.code == 2 and "cannot be opened" in ran.err


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent as a signal")
def test_until_ctrl_c(library):
    command = [sys.executable, "-m", "fabula", "serve", "--store", str(library), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        told = process.stderr.readline()
        address = re.search(r"http://\S+", told)
        assert address, told
        with httpx.Client(base_url=address[0]) as ask:
            assert ask.get("/").text.startswith("<!DOCTYPE html>")
            assert ask.get("/api/search?q=red").json()["moments"][0]["video"] == "flag.mp4"
        process.send_signal(signal.SIGINT)
        assert "stopped" in process.stderr.read() and process.wait(20) == 0
