"""The endpoint that ships: what it answers, its batches, its faults, its own rate."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from fabula.llm import fake
from fabula.llm.fake import (
    Batches,
    Server,
    complete,
    count_images,
    echo,
    fake_connections,
    read_head,
    read_prompt,
    serving,
)

httpx = pytest.importorskip("httpx", reason="the extra llm is not installed")


def body(content: object = "a b", **more: object) -> dict:
    return {"model": "m", "messages": [{"content": "first"}, {"content": content}], **more}


PARTS = [{"type": "text", "text": "a "}, {"type": "image_url"}, {"type": "image_url"}, {"type": "text", "text": "b"}]


def test_it_repeats_the_first_twenty_words_of_the_last_message():
    assert echo(body(" ".join(map(str, range(30))))) == " ".join(map(str, range(20)))
    assert echo(body(" \n ")) == "nothing" and echo(body(PARTS)) == "a b"
    assert read_prompt(body()) == "a b" and read_prompt(body(PARTS)) == "a b"
    assert count_images(body(PARTS)) == 2 and count_images(body()) == 0


def test_a_whole_reply():
    assert complete(body("four"), "seventh") == {
        "id": "fake",
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "seventh"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5},
    }


def line(key: str, content: str) -> bytes:
    return json.dumps({"custom_id": key, "body": body(content)}).encode()


FORM = b"--x\r\ncontent-disposition: a\r\n\r\nbatch\r\n--x\r\nb: c\r\n\r\n%s\r\n--x--\r\n"


def make_batch(batches: Batches) -> None:
    lines = line("k1", "one") + b"\n\n" + line("k2", "two") + b"\n"
    assert batches.serve("POST", "/files", FORM % lines) == (200, {"id": "file-0", "object": "file"})
    assert batches.files["file-0"] == lines
    wanted = json.dumps({"input_file_id": "file-0", "metadata": {"fabula": "t"}}).encode()
    status, made = batches.serve("POST", "/batches", wanted)
    assert (status, made) == (200, {"id": "batch-0", "status": "in_progress", "metadata": {"fabula": "t"}, "looks": 0})


def test_a_batch_is_answered_after_so_many_looks():
    batches = Batches(lambda b: (200, complete(b, echo(b))), polls=2)
    make_batch(batches)
    looks = [batches.serve("GET", "/batches/batch-0", b"")[1] for _ in range(3)]
    assert [look["status"] for look in looks] == ["in_progress", "in_progress", "completed"]
    assert looks[2]["output_file_id"] == "out-batch-0" and "output_file_id" not in looks[1]
    status, out = batches.serve("GET", "/files/out-batch-0/content?x=1", b"")
    told = [json.loads(part) for part in out.splitlines()]
    assert status == 200 and [t["custom_id"] for t in told] == ["k1", "k2"]
    assert told[1] == {
        "custom_id": "k2",
        "response": {"status_code": 200, "body": complete(body("two"), "two")},
        "error": None,
    }


def test_a_batch_that_ends_otherwise_has_no_answers():
    batches = Batches(lambda b: (200, {}), end="expired")
    make_batch(batches)
    _, look = batches.serve("GET", "/batches/batch-0", b"")
    assert look["status"] == "expired" and "output_file_id" not in look and list(batches.files) == ["file-0"]
    assert Batches(lambda b: (200, {})).polls == 0 and Batches(lambda b: (200, {})).end == "completed"


def test_the_list_of_batches_begins_with_the_last():
    batches = Batches(lambda b: (200, {}))
    make_batch(batches)
    batches.serve("POST", "/batches", b'{"input_file_id": "file-0"}')
    status, listed = batches.serve("GET", "/batches?limit=1", b"")
    assert (status, listed["object"], listed["has_more"]) == (200, "list", False)
    assert [b["id"] for b in listed["data"]] == ["batch-1", "batch-0"]
    for path in ("/batches/none", "/files/none", "/other/batch-0"):
        assert batches.serve("GET", path, b"") == (404, {"error": {"message": f"no such thing: {path}"}})


def test_without_a_socket():
    async def run():
        connection = fake_connections(lambda b: "so " + read_prompt(b))()
        async with connection.stream("POST", "/chat/completions", content=json.dumps(body()).encode(), headers={}) as r:
            chat = r.status_code, [piece async for piece in r.aiter_raw()]
        async with connection.stream("GET", "/files/none", content=b"", headers={}) as r:
            return chat, r.status_code, r.headers

    (status, (data,)), missing, headers = asyncio.run(run())
    assert status == 200 and json.loads(data) == complete(body(), "so a b") and (missing, headers) == (404, {})


@pytest.fixture(scope="module")
def moody():
    """A server whose fault is the question."""
    faults = {"busy", "server", "closed", "cut", "truncated", "shape", "empty", "huge", "text:other words"}
    fault = lambda n, b: read_prompt(b) if read_prompt(b) in faults else None  # noqa: E731
    with serving(Server(fault=fault, wait="9", models=[{"id": "a"}])) as server:
        yield server


def post(server: Server, content: str) -> httpx.Response:
    with httpx.Client(trust_env=False, verify=False) as client:
        return client.post(f"{server.url}/chat/completions", json=body(content), headers={"authorization": "Bearer k"})


@pytest.mark.parametrize(
    ("fault", "status", "wait", "document"),
    [
        ("busy", 429, "9", {"error": {"message": "fault of the fake: busy Bearer k"}}),
        ("server", 500, None, {"error": {"message": "fault of the fake: server Bearer k"}}),
        ("closed", 401, None, {"error": {"message": "fault of the fake: closed Bearer k"}}),
        ("shape", 200, None, {"result": ["of another kind"], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}),
        ("empty", 200, None, complete(body("empty"), "")),
        ("text:other words", 200, None, complete(body("text:other words"), "other words")),
        ("a b", 200, None, complete(body("a b"), "a b")),
    ],
)
def test_faults_of_the_server(moody, fault, status, wait, document):
    reply, before = post(moody, fault), len(moody.log)
    assert (reply.status_code, reply.headers.get("retry-after"), reply.json()) == (status, wait, document)
    assert moody.log[before - 1] == (status if status != 200 or fault[:4] in ("text", "a b") else 0, body(fault))


def test_replies_that_end_too_early_or_too_late(moody):
    half = json.dumps(complete(body("truncated"), "truncated"))
    assert post(moody, "truncated").text == half[: len(half) // 2]
    with pytest.raises(httpx.RemoteProtocolError, match="peer closed"):
        post(moody, "cut")
    assert len(post(moody, "huge").json()["choices"][0]["message"]["content"]) == 3 * (fake.HUGE // 3)
    assert fake.HUGE == 10_485_760


def test_the_list_of_models_and_what_is_not_there(moody):
    with httpx.Client(trust_env=False, verify=False) as client:
        assert client.get(f"{moody.url}/models").json() == {"object": "list", "data": [{"id": "a"}]}
        assert client.get(f"{moody.url}/batches/none").status_code == 404


def test_a_bucket_holds_the_tokens_of_a_second(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(fake.time, "monotonic", lambda: now[0])
    server = Server(rate=4.0)
    server.tokens, server.filled = 2.0, 100.0
    assert [server.take_token() for _ in range(3)] == [True, True, False]
    now[0] += 0.25
    assert server.take_token() and not server.take_token()
    now[0] += 60
    assert [server.take_token() for _ in range(5)] == [True] * 4 + [False]


def test_a_server_with_a_rate_says_busy_beyond_it():
    with serving(Server(rate=2.0)) as server:
        assert [post(server, "q").status_code for _ in range(3)] == [200, 200, 429]
        assert server.most == 1 and server.received == 3
        until = time.monotonic() + 10
        while server.now and time.monotonic() < until:  # the client has its answer before the server counts it as ended
            time.sleep(0.001)
        assert server.now == 0


def test_an_answer_takes_its_seconds():
    with serving(Server(seconds=0.15)) as server:
        began = time.monotonic()
        post(server, "q")
        assert time.monotonic() - began >= 0.15


def test_a_line_of_a_batch_fails_with_any_fault():
    server = Server(fault=lambda n, b: "shape" if n == 2 else None)
    assert server.answer_line(body()) == (200, complete(body(), "a b"))
    assert server.answer_line(body()) == (500, {"error": {"message": "fault of the fake: shape"}})
    assert server.log == [(200, body()), (500, body())] and server.received == 2


def test_defaults_of_the_server():
    server = Server()
    assert (server.seconds, server.slots, server.rate, server.wait, server.port) == (0.0, None, None, "0.2", 0)
    assert (server.models, server.log, server.most, server.received, server.now) == ([], [], 0, 0, 0)
    assert server.keep({"a": 1}, {}) == {"a": 1}


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        (b"GET /v1/x y HTTP\r\nA-B:  c:d \r\nE:f\r\n\r\n", {"a-b": "c:d", "e": "f", "method": "GET", "path": "/v1/x"}),
        (b"", {}),
        (b"GET / HTTP", {}),
    ],
)
def test_the_head_of_a_request(raw, read):
    async def run():
        reader = asyncio.StreamReader()
        reader.feed_data(raw)
        reader.feed_eof()
        return await read_head(reader)

    assert asyncio.run(run()) == read
