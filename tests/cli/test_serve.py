"""fabula serve: one page, on this machine alone."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from http.client import HTTPConnection
from importlib import import_module
from pathlib import Path

import pytest

from fabula.core.errors import InputError

serving = import_module("fabula.verbs.searching.commands.serve")  # the package's name `serve` is the command
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


# Raw sockets: what no browser sends -----------------------------------------------------------------------------------


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch):
    """A running server whose patience is short."""
    monkeypatch.setattr(serving, "IDLE", 0.5)
    monkeypatch.setattr(serving, "LONGEST", 1.5)
    with serving.open_server(b"<p>hello" * 200_000, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def send(port: int, *lines: str) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode("latin-1"))
        got = b""
        while piece := connection.recv(1 << 20):
            got += piece
        return got


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["GET / HTTP/1.1", "Host: localhost"], 200),
        (["GET / HTTP/1.1", "Host: LocalHost:8000"], 200),
        (["GET / HTTP/1.1", "Host: localhost:evil"], 403),
        (["GET / HTTP/1.1", "Host: localhost:80:evil.com"], 403),
        (["GET / HTTP/1.1", "Host: localhost.evil.com"], 403),
        (["GET / HTTP/1.1", "Host: localhost:"], 403),
        (["GET / HTTP/1.1", "Host: 127.0.0.1.evil.com:80"], 403),
        (["GET / HTTP/1.1", "Host: evil@localhost:80"], 403),
        (["GET / HTTP/1.1", "Host: localhost:80/evil"], 403),
        (["GET / HTTP/1.1", "Host: localhost:٨٠".encode().decode("latin-1")], 403),
        (["GET / HTTP/1.1", "Host: "], 403),
        (["GET / HTTP/1.1"], 400),
        (["GET / HTTP/1.0"], 400),
        (["GET / HTTP/1.1", "Host: localhost", "Host: localhost"], 400),
        (["GET / HTTP/1.1", "Host: localhost", "Host: evil.com"], 400),
        (["GET http://evil.com/ HTTP/1.1", "Host: localhost"], 400),
        (["GET http://localhost/ HTTP/1.1", "Host: localhost"], 400),
        (["GET * HTTP/1.1", "Host: localhost"], 400),
        (["GET //evil.com HTTP/1.1", "Host: localhost"], 404),
        (["GET /../../etc/passwd HTTP/1.1", "Host: localhost"], 404),
        (["POST / HTTP/1.1", "Host: localhost", "Content-Length: 0"], 501),
        (["GET / HTTP/1.1", "Host: localhost", "X: " + "a" * 70_000], 431),
        (["GET / HTTP/1.1", "Host: localhost", *(f"X{i}: 1" for i in range(200))], 431),
        (["GET /" + "a" * 70_000 + " HTTP/1.1", "Host: localhost"], 414),
        (["GET / HTTP/9.9", "Host: localhost"], None),  # an answer without a status line: the version is unknown
        (["rubbish"], None),
    ],
)
def test_what_no_browser_sends_is_refused(port, capfd, lines, status):
    answer = send(port, *lines)
    assert status is None or answer.partition(b"\r\n")[0].split()[1] == str(status).encode()
    assert (b"hello" in answer) == (status == 200)
    assert "Traceback" not in capfd.readouterr().err


def test_a_silent_and_a_slow_connection_are_ended(port):
    started = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=20) as silent:
        assert silent.recv(10) == b""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as slow:
        with contextlib.suppress(OSError):
            for _ in range(100):
                slow.sendall(b"G")
                time.sleep(0.1)
        with contextlib.suppress(OSError):
            slow.recv(10)
    assert time.monotonic() - started < 8
    assert send(port, "GET / HTTP/1.1", "Host: localhost").startswith(b"HTTP/1.0 200")


def test_a_client_that_leaves_costs_no_traceback(port, capfd):
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as leaving:
            leaving.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, not an end
            leaving.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            leaving.recv(10)
    assert send(port, "GET / HTTP/1.1", "Host: localhost").startswith(b"HTTP/1.0 200")
    assert capfd.readouterr().err == ""


def test_the_oldest_of_too_many_connections_makes_room(port):
    some = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(serving.CONNECTIONS)]
    try:
        assert send(port, "GET / HTTP/1.1", "Host: localhost").startswith(b"HTTP/1.0 200")
        assert some[0].recv(10) == b""
    finally:
        for connection in some:
            connection.close()
