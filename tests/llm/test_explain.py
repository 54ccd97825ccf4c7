"""What a status means, how long is waited, and what is sent: the client's decisions one by one, without a socket."""

from __future__ import annotations

import asyncio
import gzip
import json

import pytest

from fabula.llm import Answer, Call, CallError, EndpointError, EndpointOptions
from fabula.llm import client as module
from fabula.llm.answer import Attempt
from fabula.llm.ask import list_models, open_client, work_through
from fabula.llm.client import HttpClient
from fabula.llm.fake import FakeReply, Server, complete, serving
from fabula.llm.wire import (
    LONGEST,
    EndpointClosed,
    Reply,
    ReplyError,
    Request,
    RequestFailed,
    RequestRefused,
    SchemaRefused,
    Secret,
    as_failure,
    choose_decoder,
    describe_document,
    describe_error,
    exchange,
    read_json,
    read_wait,
)

URL = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def without_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def reply(status: int, message: str = "", wait: float | None = None) -> Reply:
    return Reply(status, json.dumps({"error": {"message": message}}).encode(), wait)


@pytest.mark.parametrize(
    ("status", "message", "wait", "kind", "word", "told"),
    [
        (429, "slow down", 3.0, RequestFailed, "busy", "429: slow down"),
        (503, "", None, RequestFailed, "busy", "503"),
        (529, "full", None, RequestFailed, "busy", "529: full"),
        (500, "oops", None, RequestFailed, "server", "500: oops"),
        (408, "late", None, RequestFailed, "server", "408: late"),
        (599, "odd", 2.0, RequestFailed, "server", "599: odd"),
        (429, "insufficient_quota", None, EndpointClosed, "forbidden", "429: insufficient_quota"),
        (429, "see your billing page", None, EndpointClosed, "forbidden", "429: see your billing page"),
        (429, "slow", 900.0, RequestFailed, "busy", "429: slow"),
        (429, "slow", 900.5, EndpointClosed, "busy", "asks to wait for 900 s (slow)"),
        (402, "pay", None, EndpointClosed, "forbidden", "402: pay"),
        (407, "proxy", None, EndpointClosed, "forbidden", "407: proxy"),
        (300, "", None, EndpointClosed, "server", "300: it redirects us to an address where the key does not go"),
        (399, "", None, EndpointClosed, "server", "399: it redirects us to an address where the key does not go"),
        (400, "bad", None, RequestRefused, "refused", "400: bad"),
        (413, "long", None, RequestRefused, "refused", "413: long"),
        (299, "odd", None, RequestRefused, "refused", "299: odd"),
        (400, "response_format", None, SchemaRefused, "refused", "400: response_format"),
        (422, "json_schema", 1.0, SchemaRefused, "refused", "422: json_schema"),
    ],
)
def test_what_a_status_stands_for(status, message, wait, kind, word, told):
    failure = HttpClient(EndpointOptions(url=URL)).explain(reply(status, message, wait))
    assert (type(failure), failure.kind, failure.message) == (kind, word, told)
    assert (failure.status, failure.wait, failure.usage) == (status, wait, (None, None))


@pytest.mark.parametrize("schema", ["always", "never"])
def test_a_refused_schema_is_a_refusal_where_the_user_decides(schema):
    client = HttpClient(EndpointOptions(url=URL, schema=schema))
    assert client.with_schema is (schema == "always")
    assert type(client.explain(reply(400, "no schema"))) is RequestRefused


@pytest.mark.parametrize(
    ("status", "options", "causes"),
    [
        (401, {}, ["no key was sent: set it (environment variable OPENAI_API_KEY)"]),
        (403, {"key_env": "MY_KEY"}, ["is its key right? (environment variable MY_KEY)"]),
        (404, {"model": "m"}, []),
        (405, {}, ["no model is named: set --model"]),
        (404, {"model": "m", "url": "http://127.0.0.1:9"}, ["does the address end in /v1?"]),
        (404, {"url": "http://127.0.0.1:9/"}, ["no model is named: set --model", "does the address end in /v1?"]),
        (402, {}, []),
        (407, {}, []),
    ],
)
def test_likely_causes(monkeypatch, status, options, causes):
    monkeypatch.setenv("MY_KEY", "sk-1234567")
    client = HttpClient(EndpointOptions(**{"url": URL} | options))
    assert client.find_cause(status) == causes
    assert client.explain(reply(status, "no")).message == "; ".join([f"{status}: no", *causes])


class Scripted:
    """A connection that replies in turn; a number is a status, a text an answer, an error is raised."""

    def __init__(self, *replies):
        self.replies, self.requests, self.closed = list(replies), [], 0

    def stream(self, method, path, *, content, headers):
        self.requests.append((method, path, content, dict(headers)))
        return self

    async def __aenter__(self):
        told = self.replies.pop(0)
        if isinstance(told, Exception):
            raise told
        if isinstance(told, FakeReply):
            return told
        if isinstance(told, int):
            return FakeReply(told, b'{"error": "status"}')
        return FakeReply(200, json.dumps(complete({"model": "m", "messages": [{"content": "q"}]}, told)).encode())

    async def __aexit__(self, *error):
        return None

    async def aclose(self):
        self.closed += 1


@pytest.fixture
def naps(monkeypatch):
    """The pauses, which take no time; half of a pause is not left to chance."""
    found = []

    async def sleep(seconds):
        found.append(seconds)

    monkeypatch.setattr(module.asyncio, "sleep", sleep)
    monkeypatch.setattr(module.random, "random", lambda: 0.5)
    return found


def ask(connection, call=None, **options):
    """The answer or error, the attempts that were noted, and the client."""
    notes: list[Attempt] = []

    async def run():
        opened = EndpointOptions(**{"url": URL, "model": "m", "context": 10**6} | options)
        async with HttpClient(opened, notes.append, lambda: connection) as client:
            try:
                return await client.ask(call or Call("m", "q")), client
            except CallError as error:
                return error, client

    found, client = asyncio.run(run())
    return found, notes, client


def test_pauses_double_and_stop_at_a_minute(naps):
    found, notes, _ = ask(Scripted(*[500] * 9, "fine"), retries=9)
    assert found.text == "fine" and len(notes) == 9
    assert naps == [0.375, 0.75, 1.5, 3.0, 6.0, 12.0, 24.0, 45.0, 45.0]


def test_an_endpoint_that_says_when_is_obeyed_and_nobody_asks_before(naps, monkeypatch):
    held = []
    monkeypatch.setattr(module.Limits, "hold", lambda self, seconds: held.append(seconds))
    busy = FakeReply(429, b"{}", {"retry-after": "7"})
    found, notes, _ = ask(Scripted(busy, "fine"))
    assert found.text == "fine" and naps == [7.0] == held and notes[0].status == 429


@pytest.mark.parametrize("retries", [0, 2])
def test_so_many_retries_and_no_more(naps, retries):
    found, notes, _ = ask(Scripted(*[500] * 9), retries=retries)
    assert (type(found), found.kind, found.attempts, str(found)) == (CallError, "server", retries + 1, "500: status")
    assert len(notes) == retries + 1 and len(naps) == retries


def test_what_cannot_succeed_is_not_tried_again(naps):
    refused, notes, _ = ask(Scripted(400))
    assert (refused.kind, refused.attempts, len(notes)) == ("refused", 1, 1)
    closed, notes, _ = ask(Scripted(402))
    assert isinstance(closed, EndpointError) and str(closed) == f"{URL}: 402: status" and closed.attempts == 1
    assert naps == []


def test_without_a_schema_at_once_and_for_good(naps):
    connection = Scripted(FakeReply(400, b'{"error": "no schema"}'), "fine")
    found, notes, client = ask(connection, Call("m", "q", schema={"type": "object"}), retries=0)
    assert found.text == "fine" and naps == [] and len(notes) == 1 and client.with_schema is False
    assert ["response_format" in json.loads(r[2]) for r in connection.requests] == [True, False]


def test_what_is_sent_and_noted():
    call, connection = Call("m", "q"), Scripted(FakeReply(200, b'{"usage": {"prompt_tokens": 5}}'), "fine")
    found, notes, client = ask(connection, call, retries=0)
    assert (found.kind, found.attempts) == ("reply", 1)
    assert connection.requests == [
        ("POST", "/chat/completions", json.dumps(call.body()).encode(), {"x-call": call.key})
    ]
    (note,) = notes
    assert (note.key, note.kind, note.status, note.tokens_in, note.tokens_out) == (call.key, "reply", None, 5, None)
    assert 0 < note.seconds < 5 and connection.closed == 1 and client.free == [connection]


def test_no_connection_names_the_address_and_asks_whether_somebody_is_there(naps):
    found, _, _ = ask(Scripted(OSError("refused")), retries=0)
    assert str(found) == f"no connection to {URL} (refused); is a server running there?" and found.kind == "connection"


@pytest.mark.parametrize(
    ("used", "back"),
    [("fine", 17 + 40 - 1 - 2), (FakeReply(200, b'{"choices": [{"message": {"content": "x"}}]}'), None)],
)
def test_tokens_that_were_not_used_are_given_back(monkeypatch, used, back):
    given = []
    monkeypatch.setattr(module.Limits, "slot", lambda self, n: given.append(n) or self.slots)
    client = ask(Scripted(used), Call("m", "q", parameters={"max_tokens": 40}), tpm=60)[2]
    assert given == [17 + 40] and client.limits.tokens.free == (-back if back else 0.0)


def test_a_context_of_just_so_many_tokens_is_enough():
    call = Call("m", "q", parameters={"max_tokens": 4})  # 17 and 4
    assert ask(Scripted("fine"), call, context=21)[0].text == "fine"
    found, notes, _ = ask(Scripted(), call, context=20)
    told = "about 21 tokens with the answer, more than the 20 that m takes"
    assert (found.kind, found.attempts, str(found)) == ("context", 0, told)
    assert notes == [Attempt(call.key, "context", told)]


@pytest.mark.parametrize(
    ("entry", "context"),
    [
        ({"max_model_len": 7}, 7),
        ({"meta": {"n_ctx_train": 9, "n_ctx": 8}}, 8),
        ({"context_length": 5, "meta": {"context_length": 6}}, 5),
        ({"context_window": 4, "max_model_len": "many"}, 4),
        ({"max_model_len": 0, "n_ctx": 1}, 1),
        ({"max_model_len": True}, None),
        ({"meta": [3]}, None),
        ({}, None),
    ],
)
def test_the_context_is_what_the_list_says_of_this_model(entry, context):
    listed = {"data": [{"id": "other", "max_model_len": 1}, "no entry", {"id": "m", **entry}]}

    async def run():
        connection = Scripted(FakeReply(200, json.dumps(listed).encode()))
        async with HttpClient(EndpointOptions(url=URL), open_connection=lambda: connection) as client:
            both = [await client.find_context("m"), await client.find_context("none")]
            return both, connection.requests

    found, requests = asyncio.run(run())
    assert found == [context, None] and requests == [("GET", "/models", b"", {})]


def test_the_names_of_models(monkeypatch):
    with serving(Server(models=[{"id": "a"}, {"id": 3}, {"id": "b\n"}, {}])) as server:
        assert list_models(EndpointOptions(url=server.url)) == ["a", "b\\n"]
    assert list_models(EndpointOptions(url="http://127.0.0.1:9/v1")) == []


def test_settings_of_connections(monkeypatch):
    httpx = pytest.importorskip("httpx", reason="the extra llm is not installed")
    made = []
    monkeypatch.setattr(httpx, "AsyncClient", lambda **settings: made.append(settings))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234567")
    HttpClient(EndpointOptions(url="http://127.0.0.1:9/v1/", timeout=20)).prepare_http()()
    HttpClient(EndpointOptions(url="http://example.org/v1", timeout=3, key_env="NONE")).prepare_http()()
    local, far = made
    assert local["base_url"] == "http://127.0.0.1:9/v1" and far["base_url"] == "http://example.org/v1"
    plain = {"accept-encoding": "identity", "content-type": "application/json"}
    assert local["headers"] == {**plain, "authorization": "Bearer sk-1234567"} and far["headers"] == plain
    assert (local["timeout"].read, local["timeout"].connect, local["timeout"].pool) == (20, 15, None)
    assert (far["timeout"].read, far["timeout"].connect) == (3, 3)
    assert (local["trust_env"], far["trust_env"], local["verify"]) == (False, True, False)
    assert local["limits"].max_connections == 1 == local["limits"].max_keepalive_connections


# many at once


def test_as_many_jobs_at_once_as_allowed_each_once():
    under, most, done = set(), [], []

    async def work(job):
        under.add(job)
        most.append(len(under))
        await asyncio.sleep(0)
        under.remove(job)
        done.append(job)

    asyncio.run(work_through(iter(range(7)), work, 3))
    assert max(most) == 3 and sorted(done) == list(range(7))


def test_the_first_error_ends_the_work():
    async def work(job):
        if job == 2:
            raise ValueError(job)
        await asyncio.sleep(0)

    jobs = iter(range(100))
    with pytest.raises(ValueError, match="2"):
        asyncio.run(work_through(jobs, work, 2))
    assert next(jobs) < 10


def test_which_client_the_options_open(tmp_path):
    async def kinds(**options):
        async with open_client(EndpointOptions(**options), reply=lambda body: "so") as client:
            answer = await client.ask(Call("fake", "q"))
            return type(client).__name__, answer.text

    record = tmp_path / "record.jsonl"
    assert asyncio.run(kinds()) == ("HttpClient", "so")
    assert asyncio.run(kinds(record=record)) == ("StoredClient", "so")
    assert asyncio.run(kinds(replay=record, url=URL)) == ("StoredClient", "so")


# the wire


@pytest.mark.parametrize(
    ("key", "text", "left"),
    [("sk-12345", "a sk-12345 b", "a [key] b"), ("sk-1234", "a sk-1234 b", "a sk-1234 b"), ("", "a", "a")],
)
def test_a_key_of_eight_characters_is_a_secret(key, text, left):
    assert Secret(key).remove(text) == left == Secret(key).clean(text)


def test_a_message_is_one_line_of_so_many_characters():
    assert Secret("").clean("a\nb\x1b[31m") == "a\\nb\\x1b[31m"
    assert len(Secret("").clean("x" * 1000)) == 300 and Secret("").clean("x" * 300) == "x" * 300


def test_names_and_texts_of_a_document_lose_the_key():
    secret = Secret("sk-12345")
    document = {"sk-12345": [1, "is sk-12345", {"b": "sk-12345sk-12345"}], "fine": None}
    assert secret.clean_document(document) == {"[key]": [1, "is [key]", {"b": "[key][key]"}], "fine": None}
    assert secret.clean_document("sk-12345") == "[key]" and secret.clean_document(3) == 3


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def test_depth_and_parts_are_bounded_on_both_sides():
    assert read_json(nested(64), Secret("")) and describe_error(b"[1]", Secret("")) == "[1]"
    with pytest.raises(ReplyError, match="the reply is nested more than 64 deep"):
        read_json(nested(65), Secret(""))
    with pytest.raises(ReplyError, match="the reply has more than 400,000 parts") as error:
        read_json(b"[" + b"1," * 400_000 + b"1]", Secret(""))
    assert error.value.kind == "length"
    assert len(read_json(b"[" + b"1," * 399_999 + b"1]", Secret(""))) == 400_000
    with pytest.raises(ReplyError, match=r"the reply is not JSON \(") as error:
        read_json(b"{", Secret(""))
    assert error.value.kind == "reply"


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"error": "no"}, "no"),
        ({"message": "no"}, "no"),
        ({"error": {"message": "no", "code": 3, "type": "x", "more": "y"}}, "no 3 x"),
        ({"error": {"code": None, "message": "no"}}, "no"),
        ({"error": {}}, ""),
        ([1], "[1]"),
    ],
)
def test_the_message_in_an_error(document, told):
    assert describe_document(document) == told
    assert describe_error(b"no sk-12345", Secret("sk-12345")) == "no [key]"
    assert len(describe_document({"error": "x" * 70_000})) == 65536 == len(describe_error(b"x" * 70_000, Secret("")))


@pytest.mark.parametrize(("kind", "made"), [("length", RequestRefused), ("reply", RequestFailed)])
def test_a_reply_that_is_too_long_stays_too_long(kind, made):
    failure = as_failure(ReplyError("so", kind, (1, 2)))
    assert type(failure) is made and (failure.kind, failure.message, failure.usage) == (kind, "so", (1, 2))
    assert as_failure(failure) is failure


@pytest.mark.parametrize(
    ("ms", "after", "seconds"),
    [
        ("0", "7", 0.0),
        ("1500", None, 1.5),
        ("-1", "7", 7.0),
        ("x", "7", 7.0),
        ("", "0", 0.0),
        (None, "999999999", 999999999.0),
        (None, "1e9", None),
        ("nan", "2", 2.0),
        (None, "", None),
    ],
)
def test_seconds_until_the_endpoint_wants_to_be_asked_again(ms, after, seconds):
    assert read_wait(ms, after) == seconds


def test_a_date_is_so_many_seconds_away(monkeypatch):
    monkeypatch.setattr("fabula.llm.wire.time.time", lambda: 1445412480.0 - 30)
    assert read_wait(None, "Wed, 21 Oct 2015 07:28:00 GMT") == 30


def decode(encoding, *pieces):
    decoder = choose_decoder(encoding)
    return b"".join(part for piece in pieces for part in decoder(piece))


def test_what_is_decoded():
    data = bytes(range(256)) * 2000
    packed = gzip.compress(data)
    for encoding in ("gzip", " X-Gzip "):
        assert decode(encoding, packed[:9], packed[9:700], packed[700:] + b"more") == data
    for encoding in (None, "", "identity", " Identity"):
        assert decode(encoding, b"ab", b"c") == b"abc"
    assert max(map(len, choose_decoder("gzip")(packed))) == 1 << 16
    with pytest.raises(RequestRefused, match="the reply is encoded as 'br'; the request asks for identity") as error:
        choose_decoder("br")
    assert error.value.kind == "reply"


def fetch(told, request=None, seconds=5.0):
    return asyncio.run(exchange(Scripted(told), request or Request("GET", "/"), seconds, ()))


def test_a_reply_of_just_so_many_bytes_is_read():
    assert fetch(FakeReply(200, b"abc"), Request("GET", "/", limit=3)) == Reply(200, b"abc", None)
    with pytest.raises(RequestRefused, match=r"a reply of more than 1\.91e-06 MB") as error:
        fetch(FakeReply(206, b"abc"), Request("GET", "/", limit=2))
    assert (error.value.kind, error.value.status) == ("length", 206) and Request("GET", "/").limit == LONGEST == 4194304


def test_what_unpacks_to_too_much_is_refused_though_little_is_sent():
    packed = FakeReply(200, gzip.compress(b"x" * 1000), {"content-encoding": "gzip"})
    assert fetch(packed, Request("GET", "/", limit=1000)).body == b"x" * 1000
    with pytest.raises(RequestRefused):
        fetch(packed, Request("GET", "/", limit=999))


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (TimeoutError(), "timeout", "no whole reply within 5 s"),
        (OSError("gone"), "connection", "gone"),
        (OSError(), "connection", "OSError"),
        (ValueError("bad"), "connection", "bad"),
        (type("ReadTimeout", (OSError,), {})(), "timeout", "no whole reply within 5 s"),
        (FakeReply(200, b"no", {"content-encoding": "gzip"}), "reply", "the reply is no gzip ("),
    ],
)
def test_why_no_whole_reply_came(error, kind, message):
    with pytest.raises(RequestFailed) as failed:
        fetch(error)
    assert failed.value.kind == kind and failed.value.message.startswith(message)
    assert (failed.value.status, failed.value.wait) == (None, None)


@pytest.mark.parametrize(("status", "taken", "body"), [(200, b"abc", b""), (404, b"", b"abc")])
def test_pieces_of_a_good_reply_go_where_they_are_wanted(status, taken, body):
    pieces = bytearray()
    found = fetch(FakeReply(status, b"abc", {"retry-after": "2"}), Request("GET", "/", take=pieces.extend))
    assert (found.status, found.body, found.wait, bytes(pieces)) == (status, body, 2.0, taken)


def test_an_answer_is_cleaned_once_more_where_its_parts_are_joined(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234567")
    client = HttpClient(EndpointOptions(url=URL))
    parts = [{"text": "sk-123"}, {"text": "4567"}]
    assert client.read_answer({"choices": [{"message": {"content": parts}}]}, 2.0) == Answer("[key]", seconds=2.0)
