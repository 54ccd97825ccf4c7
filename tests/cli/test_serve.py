"""fabula serve: one page, on this machine alone."""

from __future__ import annotations

import threading
from http.client import HTTPConnection
from importlib import import_module
from pathlib import Path

import pytest

from fabula.core.errors import InputError

serving = import_module("fabula.cli.serve")  # the package's name `serve` is the command
SODA_D = ("--metrics", "SODA_d")


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What would be served; the server itself stops at once, as if Ctrl-C were pressed."""
    bodies: list[bytes] = []

    def stop(self):
        raise KeyboardInterrupt

    def keep(body, port, listen=serving.open_server):
        bodies.append(body)
        return listen(body, port)

    monkeypatch.setattr(serving, "open_server", keep)
    monkeypatch.setattr("http.server.ThreadingHTTPServer.serve_forever", stop)
    return bodies


def test_predictions_are_scored_and_shown(fabula, served):
    ran = fabula("serve", "preds.json", "--refs", "refs.json", *SODA_D, "--port", 0)
    assert ran.code == 0 and "http://127.0.0.1:" in ran.err and "stopped" in ran.err
    assert b"<b>preds</b> against <b>refs</b>" in served[0]


def test_two_systems(fabula, served):
    assert fabula("serve", "preds.json", "-r", "refs.json", *SODA_D, "--against", "preds.json", "--port", 0).code == 0
    assert b"preds (2)" in served[0]


def test_a_saved_page_is_shown_as_it_is(fabula, served, tmp_path):
    fabula("score", "preds.json", "--refs", "refs.json", *SODA_D, "--html", "page.html")
    assert fabula("serve", "page.html", "--port", 0).code == 0
    assert served == [(tmp_path / "page.html").read_bytes()]
    assert "finished page" in fabula("serve", "page.html", "--refs", "refs.json").err
    assert fabula("serve", "absent.html").code == 2


def test_a_saved_result_is_its_summary(fabula, served, tmp_path):
    fabula("score", "preds.json", "--refs", "refs.json", *SODA_D, "--json", "result.json")
    assert fabula("serve", "result.json", "--port", 0).code == 0
    assert b"saved without its videos" in served[0] and b"SODA_d <small>f1</small>" in served[0]
    Path("result.json").write_text('{"fabula": "0", "scores": {"x": {}}, "counts": {}}')
    ran = fabula("serve", "result.json")
    assert ran.code == 2 and "fabula score --json" in ran.err


def test_predictions_without_references_say_so(fabula):
    ran = fabula("serve", "preds.json", *SODA_D)
    assert ran.code == 2 and "--refs" in ran.err


def test_one_page_and_no_foreign_host():
    with serving.open_server(b"<p>hello", 0) as server:
        port = server.server_port
        assert server.server_address[0] == "127.0.0.1"
        with pytest.raises(InputError, match="--port 0"):
            serving.open_server(b"", port)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()

        def asked(path: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
            connection = HTTPConnection("127.0.0.1", port, timeout=20)
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            got = answer.status, answer.read()
            connection.close()
            return got

        try:
            assert asked("/") == (200, b"<p>hello")
            assert asked("/", "HEAD") == (200, b"")
            assert asked("/", Host="localhost:1") == (200, b"<p>hello")
            assert asked("/etc/passwd")[0] == 404
            assert asked("/", Host=f"evil.example:{port}")[0] == 403
        finally:
            server.shutdown()
            thread.join()
