"""Half-sent requests, drips, readers that do not read, too many connections: others are answered, the log is short."""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import socket
import threading
import time

import pytest

pytest.importorskip("fastapi", reason="the server needs fabula[web]")
pytest.importorskip("uvicorn", reason="the server needs fabula[web]")

from fabula.web import connections
from fabula.web.binding import Binding, open_socket
from fabula.web.connections import Connections, Seldom, count_connections, make_server
from fabula.web.guard import Guard, find_address

HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
LARGE = 20_000_000


async def app(scope, receive, send):
    body = b"x" * LARGE if scope["path"] == "/large" else b"hello"
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@contextlib.contextmanager
def running(most=None):
    binding = Binding(port=0)
    bound = open_socket(binding)
    server = make_server(Guard(app, binding), timeout_graceful_shutdown=1)
    if most is not None:
        server.config.http.pool.most = most
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    try:
        yield bound.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(20)
        bound.close()


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def read_all(connection: socket.socket) -> bytes:
    got = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(1 << 16):
            got += piece
    return got


def ask(port: int) -> bytes:
    with connect(port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        return read_all(connection)


def is_ended(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_whoever_sends_a_whole_request_is_answered(capfd):
    """Far more half requests than there may be connections, held for as long as they are let."""
    with running(most=40) as port, contextlib.ExitStack() as stack:
        some = []
        for _ in range(150):
            some.append(stack.enter_context(connect(port)))
            some[-1].sendall(HALF)
        waits = []
        for _ in range(10):
            begun = time.monotonic()
            assert ask(port).endswith(b"hello")
            waits.append(time.monotonic() - begun)
        assert max(waits) < 2
        assert is_ended(some[0]) and is_ended(some[100])  # the oldest made room
        some[-1].sendall(b"now\r\nConnection: close\r\n\r\n")
        assert read_all(some[-1]).endswith(b"hello")  # the newest did not
    assert len(capfd.readouterr().err) < 1000


@pytest.mark.parametrize("sent", [b"", HALF, b"POST /a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{"])
def test_half_a_request_has_its_time_however_its_bytes_drip(monkeypatch, sent):
    monkeypatch.setattr(connections, "HEAD", 0.4)
    monkeypatch.setattr(connections, "BODY", 0.4)
    with running() as port, connect(port) as slow:
        slow.sendall(sent)
        begun = time.monotonic()
        with contextlib.suppress(OSError):
            while time.monotonic() - begun < 5:
                slow.sendall(b"a")
                time.sleep(0.05)
        assert time.monotonic() - begun < 3


def test_a_byte_behind_an_answer_does_not_keep_a_connection(monkeypatch):
    monkeypatch.setattr(connections, "HEAD", 0.4)
    with running() as port, connect(port) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        got = b""
        while not got.endswith(b"hello"):
            got += slow.recv(1 << 16)
        slow.sendall(b"G")
        begun = time.monotonic()
        assert is_ended(slow) and time.monotonic() - begun < 3


def test_a_reader_that_does_not_read_is_closed(monkeypatch):
    monkeypatch.setattr(connections, "STALLED", 0.4)
    with running() as port, connect(port) as slow:
        slow.sendall(b"GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        time.sleep(1.2)
        assert len(read_all(slow)) < LARGE
        assert ask(port).endswith(b"hello")


def test_idle_connections_make_room_after_half_ones():
    closed = []

    class One:
        def __init__(self, name, address="127.0.0.1"):
            self.name, self.address = name, address

        def drop(self):
            closed.append(self.name)
            pool.remove(self)

    pool = Connections(most=3)
    for name, phase in (("idle", "idle"), ("answer", "answer"), ("half", "head")):
        pool.add(one := One(name))
        pool.move(one, phase)
    for k in range(2):
        pool.add(one := One(f"new {k}"))
        pool.move(one, "answer")
    assert closed == ["half", "idle"]
    pool.add(One("too many"))
    assert closed[2:] == ["too many"]  # all others are being answered

    closed.clear()
    pool = Connections(most=8)
    for k in range(4):
        pool.move(one := One(k, "10.0.0.1"), "head")
        pool.add(one)
    assert closed == [0, 1] and pool.by_address["10.0.0.1"] == 2  # one address has a quarter


def test_fewer_connections_than_files(monkeypatch):
    resource = pytest.importorskip("resource", reason="Windows has no such limit")
    for files, most in ((1024, 480), (10, 16), (1 << 20, connections.MOST), (resource.RLIM_INFINITY, connections.MOST)):
        monkeypatch.setattr(resource, "getrlimit", lambda of, files=files: (files, files))
        assert count_connections() == most


def test_no_file_left_for_a_connection_costs_one_line(caplog):
    loop_said = {"message": "socket.accept() out of system resource", "exception": OSError(errno.EMFILE, "Too many")}
    make_server(app)  # its filters are those of the loggers
    logger = logging.getLogger("uvicorn.error")
    logger.addHandler(caplog.handler)
    try:
        for _ in range(1000):
            connections.log_failure(None, loop_said)
    finally:
        logger.removeHandler(caplog.handler)
    assert len(caplog.messages) == 1 and "(Too many)" in caplog.text and "Traceback" not in caplog.text


def test_repetitions_are_counted(monkeypatch):
    seldom = Seldom()
    said = [logging.LogRecord("a", logging.WARNING, "", 0, "Invalid", None, None) for _ in range(4)]
    assert [seldom.filter(r) for r in said[:3]] == [True, False, False]
    monkeypatch.setattr(connections, "QUIET", 0.0)
    assert seldom.filter(said[3]) and said[3].getMessage() == "Invalid (2 more of these since the last one)"


def test_two_lengths_of_one_request_are_refused():
    with running() as port, connect(port) as smuggler:
        head = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
        smuggler.sendall(head + b"0\r\n\r\nGET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        got = read_all(smuggler)
    assert got.startswith(b"HTTP/1.1 400") and got.count(b"HTTP/1.1") == 1 and len(got) < 2000


@pytest.mark.parametrize(
    ("origin", "peer", "said", "address"),
    [
        (None, "127.0.0.1", [b"6.6.6.6"], "127.0.0.1"),
        ("https://a.org", "127.0.0.1", [b"6.6.6.6, 7.7.7.7"], "7.7.7.7"),
        ("https://a.org", "127.0.0.1", [b"6.6.6.6", b"7.7.7.7"], "7.7.7.7"),
        ("https://a.org", "127.0.0.1", [], "127.0.0.1"),
        ("https://a.org", "9.9.9.9", [b"6.6.6.6"], "9.9.9.9"),
    ],
)
def test_whose_call_it_is(origin, peer, said, address):
    scope = {"client": (peer, 1), "headers": [(b"x-forwarded-for", value) for value in said]}
    assert find_address(scope, Binding(origin=origin)) == address


def test_failures_of_the_machine_cost_one_line_each(caplog):
    """A full disk: 507, other refusals: 503, told to try again; no traceback."""
    import sqlite3

    from fastapi import FastAPI

    from fabula.core.errors import InputError
    from fabula.web.failures import answer_failures

    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    failures = [(full, 507), (OSError(errno.ENOSPC, "No space"), 507), (OSError(errno.EIO, "I/O"), 503)]
    failures += [(sqlite3.OperationalError("disk I/O error"), 503), (InputError("is damaged"), 503)]
    for error, status in failures:
        made = FastAPI()
        answer_failures(made)

        async def fail(error=error):
            raise error

        made.add_api_route("/", fail, response_model=None)
        sent = call(made)
        assert sent[0]["status"] == status and (b"retry-after", b"5") in sent[0]["headers"]
        assert set(json.loads(sent[1]["body"])) == {"detail"}


def call(made):
    """The messages that an application sends for GET /."""
    import asyncio

    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "raw_path": b"/", "headers": [], "query_string": b"",
             "root_path": "", "scheme": "http", "http_version": "1.1", "client": ("127.0.0.1", 1)}  # fmt: skip
    asyncio.run(made(scope, receive, send))
    return sent
