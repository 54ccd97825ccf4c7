"""What a hostile endpoint may send: bounded, timed, without the key, and never a hang."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import time

import pytest

pytest.importorskip("httpx", reason="the extra llm is not installed")

from fabula.llm import Answer, Call, CallError, EndpointError, EndpointOptions
from fabula.llm import batch as batch_module
from fabula.llm import client as client_module
from fabula.llm.answer import ReplyError
from fabula.llm.batch import Batcher, Sent, read_id, read_line
from fabula.llm.client import HttpClient
from fabula.llm.fake import Server, complete, send, serving
from fabula.llm.wire import LONGEST, MOST_PARTS, Secret, read_json
from tests.llm.helpers import ask_all

KEY = "sk-SECRET-abcdef-0123456789"
HOT = "".join(f"\\u{ord(c):04x}" for c in KEY)  # the key as JSON may spell it


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for module in (client_module, batch_module):
        monkeypatch.setattr(module, "FIRST", 0.01)


class Raw(Server):
    """Replies with given bytes to requests whose path begins so; drips them where `drip` is set."""

    raw: dict[str, bytes]
    drip = 0.0

    async def handle(self, head, data, writer):
        path = head["path"].removeprefix("/v1")
        found = next((v for k, v in self.raw.items() if f"{head['method']} {path}".startswith(k)), None)
        if found is None:
            return await super().handle(head, data, writer)
        if self.drip:
            with contextlib.suppress(ConnectionError):
                for byte in found:
                    writer.write(bytes([byte]))
                    await writer.drain()
                    await asyncio.sleep(self.drip)
            return False
        with contextlib.suppress(ConnectionError):
            writer.write(found)
            await writer.drain()
        return False


def raw_server(drip=0.0, **raw):
    server = Raw()
    server.raw, server.drip = {k.replace("_", " ", 1): v for k, v in raw.items()}, drip
    return serving(server)


def reply(body, status=200, headers=""):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f"HTTP/1.1 {status} X\r\ncontent-length: {len(data)}\r\n{headers}\r\n".encode() + data


def answer(text="fine", **more):
    return {**complete({"model": "m", "messages": [{"content": "?"}]}, text), **more}


def ask_one(server, **options):
    tries = []
    options = {"retries": 0, "timeout": 5.0, **options}
    return ask_all([Call("m", "question")], EndpointOptions(url=server.url, model="m", **options), tries.append)[
        0
    ], tries


# ── the key ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("spelled", [KEY, HOT])
@pytest.mark.parametrize(
    "body",
    [
        '{"choices": [{"message": {"content": "a KEY b"}, "finish_reason": "KEY"}]}',
        '{"choices": [{"message": {"content": [{"text": "HALF1"}, {"text": "HALF2"}]}, "finish_reason": ["KEY"]}]}',
        '{"choices": [{"message": {"content": ""}, "finish_reason": "KEY"}]}',
        '{"KEY": {"KEY": ["KEY"]}}',
        '{"error": {"message": "KEY", "code": "KEY", "type": {"KEY": "KEY"}}}',
        '{"choices": "KEY"}',
        '"KEY"',
    ],
)
def test_the_key_is_in_nothing_that_a_reply_becomes(spelled, body):
    half = len(KEY) // 2
    body = body.replace("KEY", spelled).replace("HALF1", KEY[:half]).replace("HALF2", KEY[half:])
    for status in (200, 400, 500):
        with raw_server(POST_=reply(body.encode(), status)) as server:
            found, tries = ask_one(server)
        assert KEY not in repr(found) + str(found) + repr(tries)


def test_the_key_is_in_no_line_of_a_batch():
    secret = HttpClient(EndpointOptions(url="http://127.0.0.1:9/v1"))
    for line in (
        {"custom_id": "k", "response": {"status_code": 200, "body": answer(KEY)}},
        {
            "custom_id": "k",
            "response": {
                "status_code": 200,
                "body": {"choices": [{"message": {"content": "x"}, "finish_reason": KEY}]},
            },
        },
        {"custom_id": "k", "response": {"status_code": KEY, "body": {KEY: KEY}}},
    ):
        found = read_line(secret, json.dumps(line).encode(), {"k"}, 0.0)
        assert list(found) == ["k"] and KEY not in repr(found) + str(found["k"])


def test_a_word_that_is_no_secret_stays_in_answers(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    with serving(Server(reply=lambda body: "an EMPTY room")) as server:
        assert ask_one(server)[0].text == "an EMPTY room"


# ── bounds ─────────────────────────────────────────────────────────────────────────────────────────────────────────

BOMB = gzip.compress(bytes(64 << 20))


@pytest.mark.parametrize(
    ("headers", "body", "kind"),
    [
        ("content-encoding: gzip\r\n", BOMB, "length"),
        ("content-encoding: gzip, gzip\r\n", gzip.compress(BOMB), "reply"),
        ("content-encoding: br\r\n", b"x", "reply"),
        ("content-encoding: gzip\r\n", b"no gzip", "reply"),
        ("content-encoding: gzip\r\n", gzip.compress(b"{}") + bytes(LONGEST + 1), "length"),
        ("content-encoding: gzip\r\n", gzip.compress(bytes(1 << 20)) * 64, "reply"),
        ("", b"[" + b"[]," * MOST_PARTS, "length"),
        ("", b"[" * 100_000, "reply"),
        ("", b"[" * 500 + b"]" * 500, "reply"),
        ("", b'{"choices": ' + b"9" * 100_000 + b"}", "reply"),
        ("", b"\xff\xfe{}", "reply"),
    ],
)
def test_a_reply_is_bounded_and_one_line(headers, body, kind):
    with raw_server(POST_=reply(body, 200, headers)) as server:
        found, tries = ask_one(server)
    assert isinstance(found, CallError) and found.kind == kind and len(tries) == 1
    assert "\n" not in str(found) and len(str(found)) <= 500


def test_one_layer_of_gzip_is_decoded():
    packed = gzip.compress(json.dumps(answer("so " * 60_000)).encode())
    with raw_server(POST_=reply(packed, 200, "content-encoding: gzip\r\n")) as server:
        assert ask_one(server)[0].text == "so " * 60_000


@pytest.mark.parametrize("path", ["POST_/chat", "GET_/models"])
def test_a_reply_that_drips_ends_with_the_time_limit(path):
    with raw_server(drip=0.1, **{path: reply(answer())}) as server:
        began = time.monotonic()
        found, _ = ask_one(server, timeout=0.5)
        assert time.monotonic() - began < 2.5
    assert isinstance(found, Answer) if "models" in path else found.kind == "timeout"


@pytest.mark.parametrize(
    "entry",
    [
        {"meta": "abc"}, {"meta": ["n_ctx"]}, {"max_model_len": True}, {"max_model_len": "1"}, {"max_model_len": -1},
        {"meta": {"n_ctx": None}}, {"max_model_len": 1e9},
    ],
)  # fmt: skip
def test_what_models_say_of_themselves_may_be_nonsense(entry):
    with serving(Server(models=["m", {"id": ["m"]}, {"id": "m", **entry}])) as server:
        assert ask_one(server)[0].text == "question"


@pytest.mark.parametrize("body", [b"[" * 10**5, b"x" * (LONGEST + 1), b"{", b'{"data": {}}', b'{"data": [1, [], "m"]}'])
def test_a_list_of_models_that_is_none_is_passed_over(body):
    last = reply(body, headers="connection: close\r\n")  # as the server does
    with raw_server(**{"GET_/models": last}) as server:
        assert ask_one(server)[0].text == "question"


def test_numbers_and_depth_of_a_document():
    assert read_json(b"[[1]]", Secret("")) == [[1]]
    with pytest.raises(ReplyError, match="deep"):
        read_json(b"[" * 100 + b"]" * 100, Secret(""))
    with pytest.raises(ReplyError, match="not JSON"):
        read_json(b"1" * 10**5, Secret(""))


# ── batches ────────────────────────────────────────────────────────────────────────────────────────────────────────

BAD = [
    "",
    "a\nb",
    "a\0b",
    "\x1b[2J",
    "\ud800",
    "é",
    "x" * 70_000,
    "../files",
    "a/../b",
    "/a",
    "a//b",
    "?x=1",
    7,
    None,
    [],
    "[key]",
]


@pytest.mark.parametrize("bad", BAD, ids=lambda value: repr(value)[:12])
def test_an_id_that_is_none_is_refused(bad):
    with pytest.raises(EndpointError) as error:
        read_id({"id": bad})
    assert len(str(error.value)) < 500


def test_ids_of_hosts_are_taken():
    for fine in ("batch_abc123", "file-0", "batches/abc", "ft:a.b~c=d+e@f", "..."):
        assert read_id({"id": fine}) == fine


class Ledger:
    def __init__(self, *sent):
        self.held = {s.tag: s for s in sent}

    def batches(self):
        return list(self.held.values())

    def put_batch(self, sent):
        self.held[sent.tag] = sent

    def drop_batch(self, tag):
        self.held.pop(tag, None)


def ask_in_batch(server, ledger=None, n=2, **options):
    async def run():
        endpoint = EndpointOptions(url=server.url, model="m", **{"retries": 0, "timeout": 1.0, **options})
        async with (
            asyncio.timeout(10),
            HttpClient(endpoint) as client,
            Batcher(client, ledger or Ledger(), pause=0.01, longest=0.2) as batcher,
        ):
            calls = [Call("m", f"question {i}") for i in range(n)]
            return await asyncio.gather(*map(batcher.ask, calls), return_exceptions=True)

    return asyncio.run(run())


@pytest.mark.parametrize(
    "raw",
    [
        {"POST_/files": reply({"id": "a\nb"})},
        {"POST_/files": reply({"id": "x" * 70_000})},
        {"POST_/files": reply({})},
        {"POST_/files": reply(b"[" * 10**5)},
        {"POST_/files": reply(b"x" * (LONGEST + 9))},
        {"POST_/files": reply({"error": KEY}, 400)},
        {"POST_/batches": reply({"id": "\0"})},
        {"POST_/batches": reply({"id": ["a"]})},
        {"POST_/batches": reply(BOMB, 200, "content-encoding: gzip\r\n")},
        {"GET_/batches/": reply({"status": ["completed"]})},
        {"GET_/batches/": reply({"status": "in_progress"})},
        {"GET_/batches/": reply(b"null")},
        {"GET_/batches/": reply({"status": "completed", "output_file_id": "../../etc"})},
        {"GET_/batches/": reply({"status": "completed", "output_file_id": {"a": 1}})},
        {"GET_/batches/": reply({"error": "gone"}, 404)},
        {"GET_/files/": reply({"error": "gone"}, 404)},
        {"GET_/files/": reply(b"x" * (LONGEST + (1 << 20)))},
        {"GET_/files/": reply(b"\n" * 100_000 + b"{]\n[1]\n" + b"[" * 9999)},
        {"GET_/files/": reply(b'{"custom_id": {"a": 1}, "response": 7}\n{"custom_id": "x", "response": {}}')},
    ],
    ids=lambda raw: next(iter(raw)),
)
def test_a_batch_never_hangs(raw):
    with raw_server(**raw) as server:
        began = time.monotonic()
        found = ask_in_batch(server)
    assert all(isinstance(f, CallError) for f in found), found
    assert KEY not in str(found) and time.monotonic() - began < 5


def test_a_batch_that_drips_ends_with_the_time_limit():
    for path in ("POST_/files", "POST_/batches", "GET_/batches/", "GET_/files/"):
        with raw_server(drip=0.1, **{path: reply({"id": "a"})}) as server:
            began = time.monotonic()
            found = ask_in_batch(server, timeout=0.4)
        assert all(isinstance(f, EndpointError) for f in found) and time.monotonic() - began < 3


def test_a_fault_of_ours_ends_the_run_and_does_not_hang():
    class Broken(Ledger):
        def put_batch(self, sent):
            raise RuntimeError("a fault")

    with serving(Server()) as server:
        found = ask_in_batch(server, Broken())
    assert [type(f) for f in found] == [RuntimeError] * 2


def test_a_batch_of_the_ledger_with_a_bad_id_is_one_line():
    keys = tuple(Call("m", f"question {i}").key for i in range(2))
    with serving(Server()) as server:
        found = ask_in_batch(server, Ledger(Sent("tag", keys, "a\nb")))
    assert all(isinstance(f, EndpointError) and "of a file or batch" in str(f) for f in found)


# ── what is most likely wrong ──────────────────────────────────────────────────────────────────────────────────────


class Closed(Server):
    status = 401

    async def handle(self, head, data, writer):
        return await send(writer, self.status, {"error": {"message": "no"}})


def test_a_refusal_names_its_likely_cause(monkeypatch):
    server = Closed()
    with serving(server):
        monkeypatch.setenv("OPENAI_API_KEY", "")
        with pytest.raises(
            EndpointError, match=r"401: no; no key was sent: set it \(environment variable OPENAI_API_KEY"
        ):
            ask_one(server)
        server.status = 404
        with pytest.raises(EndpointError, match="does the address end in /v1"):
            ask_all([Call("m", "q")], EndpointOptions(url=server.url.removesuffix("/v1"), model="m"))
        with pytest.raises(EndpointError, match="set --model"):
            ask_all([Call("fake", "q")], EndpointOptions(url=server.url))
    found = ask_all([Call("m", "q")], EndpointOptions(url="http://127.0.0.1:9/v1", model="m", retries=0))[0]
    assert "http://127.0.0.1:9/v1" in str(found) and "running" in str(found)


def test_the_endpoint_that_ships_has_no_need_of_httpx(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "httpx", None)
    assert ask_all([Call("m", "question")], EndpointOptions(url="fake"))[0].text == "question"
