"""Batches step by step: what is sent, what a line becomes, when it is tried again, what the ledger holds."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from fabula.llm import Answer, Call, CallError, EndpointError, EndpointOptions, batch
from fabula.llm.answer import Attempt, ReplyError
from fabula.llm.batch import (
    Batcher,
    Sent,
    UnknownError,
    cut_batches,
    fetch_lines,
    insist,
    is_listing,
    make_form,
    read_id,
    read_line,
    send_batch,
    talk,
    wait_batch,
)
from fabula.llm.call import Image
from fabula.llm.client import HttpClient
from fabula.llm.fake import Batches, FakeConnection, complete, echo
from fabula.llm.wire import EndpointClosed, RequestFailed, RequestRefused

ONE, TWO, THREE = (Call("m", word) for word in ("one", "two", "three"))


@pytest.fixture
def naps(monkeypatch):
    """The pauses of more than a turn of the loop, which take no time."""
    found, real = [], asyncio.sleep

    async def sleep(seconds):
        if seconds:
            found.append(seconds)
        await real(0)

    monkeypatch.setattr(batch.asyncio, "sleep", sleep)
    return found


def client_of(batches: Batches, note=lambda attempt: None, **options) -> HttpClient:
    opened = EndpointOptions(**{"url": "fake:", "model": "m"} | options)
    return HttpClient(opened, note, lambda: FakeConnection(echo, batches))


def answering() -> Batches:
    return Batches(lambda b: (200, complete(b, echo(b))))


class Notebook:
    """A ledger in memory that remembers what was done to it."""

    def __init__(self, *sent: Sent) -> None:
        self.held, self.steps = {s.tag: s for s in sent}, []

    def batches(self):
        return self.held.values()

    def put_batch(self, sent: Sent) -> None:
        self.steps.append(("put", sent.id, sent.keys))
        self.held[sent.tag] = sent

    def drop_batch(self, tag: str) -> None:
        self.steps.append(("drop", self.held.pop(tag).id))


# sizes


def test_a_batch_has_so_many_calls_and_bytes(monkeypatch):
    calls = [Call("m", str(i)) for i in range(5)]
    monkeypatch.setattr(batch, "MOST", 2)
    assert [[c.prompt for c in part] for part in cut_batches(calls)] == [["0", "1"], ["2", "3"], ["4"]]
    assert list(cut_batches([])) == []


def test_bytes_of_a_call_are_its_words_its_pictures_and_two_thousand(monkeypatch):
    own = 10 + 2000 + 4 + 8  # pictures of 3 and 6 bytes in base64
    calls = [Call("m", "x" * 10, (Image.of(b"abc"), Image.of(b"abcdef"))) for _ in range(2)]
    monkeypatch.setattr(batch, "HEAVIEST", 2 * own)
    assert [len(part) for part in cut_batches(calls)] == [2]
    monkeypatch.setattr(batch, "HEAVIEST", 2 * own - 1)
    assert [len(part) for part in cut_batches(calls)] == [1, 1]
    assert [len(part) for part in cut_batches([Call("m", "", (Image("d"),))])] == [1]


def test_numbers_that_hosts_have():
    assert (batch.MOST, batch.HEAVIEST, batch.WAIT, batch.LISTED) == (50_000, 94_371_840, 93_600.0, 100)
    assert (batch.PAGES, batch.ANSWER, batch.SPARE) == (50, 32_768, 1000)
    assert batch.ENDED == ("completed", "failed", "expired", "cancelled")


# what is sent


def test_the_file_of_a_batch():
    batches = answering()

    async def run():
        async with client_of(batches) as client:
            return await send_batch(client, [ONE, TWO], "my tag")

    assert asyncio.run(run()) == "batch-0" and batches.known["batch-0"]["metadata"] == {"fabula": "my tag"}
    assert [json.loads(line) for line in batches.files["file-0"].splitlines()] == [
        {"custom_id": call.key, "method": "POST", "url": "/v1/chat/completions", "body": call.body()}
        for call in (ONE, TWO)
    ]


def test_the_order_of_a_batch(monkeypatch):
    sent = []

    async def fake_talk(client, method, path, content=b"", headers=None, retries=None):
        sent.append((method, path, content, retries))
        return {"id": "it"}

    monkeypatch.setattr(batch, "talk", fake_talk)
    assert asyncio.run(send_batch(client_of(answering()), [ONE], "t")) == "it"
    assert sent[0][:2] == ("POST", "/files") and sent[1][:2] == ("POST", "/batches") and sent[1][3] == 0
    assert json.loads(sent[1][2]) == {
        "input_file_id": "it",
        "endpoint": "/v1/chat/completions",
        "completion_window": "24h",
        "metadata": {"fabula": "t"},
    }


def test_a_form():
    body, headers = make_form(b"the lines\n")
    mark = headers["content-type"].removeprefix("multipart/form-data; boundary=")
    assert list(headers) == ["content-type"] and re.fullmatch("[0-9a-f]{32}", mark)
    assert body.decode() == (
        f'--{mark}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        f'--{mark}\r\ncontent-disposition: form-data; name="file"; filename="batch.jsonl"\r\n'
        f"content-type: application/octet-stream\r\n\r\nthe lines\n\r\n--{mark}--\r\n"
    )
    assert make_form(b"")[1] != headers


class Replies:
    """A stand-in for `talk`: errors are raised, objects returned, each in turn by its path."""

    def __init__(self, **replies):
        self.replies, self.paths = {name: list(found) for name, found in replies.items()}, []

    async def talk(self, client, method, path, *rest, **options):
        self.paths.append(path)
        found = self.replies[path.strip("/").split("?")[0].split("/")[0]].pop(0)
        if isinstance(found, Exception):
            raise found
        return found


LISTED = {"data": [{"id": "b7", "metadata": {"fabula": "t"}}]}


@pytest.mark.parametrize(
    ("replies", "found", "pauses"),
    [
        ([EndpointError("lost"), {"data": []}, LISTED], "b7", []),  # it was made: the reply was lost
        ([EndpointError("lost"), {"data": []}, {"data": []}, {"id": "b8"}], "b8", [1.0]),
    ],
)
def test_a_batch_whose_reply_was_lost_is_not_made_twice(monkeypatch, naps, replies, found, pauses):
    stub = Replies(files=[{"id": "f"}], batches=replies)
    monkeypatch.setattr(batch, "talk", stub.talk)
    assert asyncio.run(send_batch(client_of(answering()), [ONE], "t")) == found and naps == pauses


def test_how_often_a_batch_is_sent(monkeypatch, naps):
    stub = Replies(files=[{"id": "f"}], batches=[EndpointError("lost"), {}, {}] * 3)
    monkeypatch.setattr(batch, "talk", stub.talk)
    with pytest.raises(EndpointError, match="lost"):
        asyncio.run(send_batch(client_of(answering(), retries=2), [ONE], "t"))
    assert naps == [1.0, 2.0]
    stub = Replies(files=[{"id": "f"}], batches=[EndpointError("lost"), UnknownError("no list")])
    monkeypatch.setattr(batch, "talk", stub.talk)
    with pytest.raises(EndpointError, match="lost"):
        asyncio.run(send_batch(client_of(answering()), [ONE], "t"))
    assert stub.paths == ["/files", "/batches", "/batches?limit=1"]
    stub = Replies(files=[{"id": "f"}], batches=[UnknownError("none")])
    monkeypatch.setattr(batch, "talk", stub.talk)
    with pytest.raises(UnknownError):
        asyncio.run(send_batch(client_of(answering()), [ONE], "t"))


def test_whether_there_is_a_list(monkeypatch):
    monkeypatch.setattr(batch, "talk", Replies(batches=[{}, UnknownError("none")]).talk)
    assert [asyncio.run(is_listing(client_of(answering()))) for _ in range(2)] == [True, False]


# waiting


def test_waiting_ends_when_the_batch_does(monkeypatch, naps):
    states = [{"status": "in_progress"}, {"status": "finalizing"}, {"status": "completed"}]
    monkeypatch.setattr(batch, "talk", Replies(batches=states).talk)
    found = asyncio.run(wait_batch(client_of(answering()), "b 1".replace(" ", "-"), ["k"], 7.0))
    assert naps == [7.0, 7.0] and str(found["k"]) == "the batch b-1 (completed) has no answer to this call"
    assert found["k"].kind == "batch"


def test_waiting_is_bounded(monkeypatch, naps):
    monkeypatch.setattr(batch, "talk", Replies(batches=[{"status": "in_progress"}] * 3).talk)
    with pytest.raises(EndpointError, match="/batches/b: still in_progress after 5 s") as error:
        asyncio.run(wait_batch(client_of(answering()), "b", ["k"], 6.0, 5.0))
    assert naps == [] and error.value.kind == "batch"
    monkeypatch.setattr(batch, "talk", Replies(batches=[{"status": 3}]).talk)
    with pytest.raises(EndpointError, match="/batches/b: its status is 3"):
        asyncio.run(wait_batch(client_of(answering()), "b", ["k"]))


def test_both_files_of_a_batch_are_read(monkeypatch):
    state = {"status": "completed", "output_file_id": "o", "error_file_id": "e"}
    read = []

    async def lines(client, file, wanted, seconds):
        read.append((file, wanted))
        assert 0 <= seconds < 1
        return {"k1": Answer("so")} if file == "o" else {"k2": CallError("no")}

    monkeypatch.setattr(batch, "talk", Replies(batches=[state]).talk)
    monkeypatch.setattr(batch, "fetch_lines", lines)
    found = asyncio.run(wait_batch(client_of(answering()), "b", ["k1", "k2", "k3"]))
    assert read == [("o", {"k1", "k2", "k3"}), ("e", {"k1", "k2", "k3"})]
    assert [str(found[k]) for k in ("k2", "k3")] == ["no", "the batch b (completed) has no answer to this call"]
    assert found["k1"].text == "so" and list(found) == ["k1", "k2", "k3"]


def response(status: object, body: object, key: object = "k") -> bytes:
    return json.dumps({"custom_id": key, "response": {"status_code": status, "body": body}}).encode()


@pytest.mark.parametrize(
    ("line", "read"),
    [
        (b"no json", {}),
        (b"[1]", {}),
        (b"3", {}),
        (response(200, {}, "other"), {}),
        (response(200, {}, 3), {}),
        (b'{"custom_id": "k", "response": null}', {}),
        (response(500, {"error": {"message": "too hot"}}), {"k": ("batch", "500: too hot", (None, None))}),
        (response(None, "words"), {"k": ("batch", "None: words", (None, None))}),
        (
            response(200, {"choices": [{"message": {"content": ""}}], "usage": {"prompt_tokens": 4}}),
            {"k": ("empty", "the answer is empty (finish_reason 'stop')", (4, None))},
        ),
    ],
)
def test_lines_that_are_no_answers(line, read):
    found = read_line(client_of(answering()), line, {"k"}, 0.5)
    assert {key: (error.kind, str(error), error.usage) for key, error in found.items()} == read


def test_a_line_that_is_one():
    line = response(200, complete(ONE.body(), "so it is"))
    assert read_line(client_of(answering()), line, {"k"}, 0.5) == {"k": Answer("so it is", "stop", 1, 3, 0.5)}


def fetch(data: bytes, wanted=("k",)):
    batches = answering()
    batches.files["f"] = data
    client = client_of(batches, retries=0)

    async def run():
        async with client:
            return await fetch_lines(client, "f", set(wanted), 0.25)

    return asyncio.run(run())


def test_the_lines_of_a_file_also_the_last_without_an_end(monkeypatch):
    answer = complete(ONE.body(), "so")
    data = response(200, answer, "k1") + b"\n \n" + response(200, answer, "k2")
    assert {key: a.text for key, a in fetch(data, ("k1", "k2")).items()} == {"k1": "so", "k2": "so"}
    assert fetch(b"") == {}
    monkeypatch.setattr(batch, "SPARE", 3)
    assert fetch(b"{}\n" * 5) == {}  # two for each call, and three
    with pytest.raises(EndpointError, match="/files/f/content: more than 5 lines to 1 calls"):
        fetch(b"{}\n" * 6)
    monkeypatch.setattr(batch, "LONGEST", 1 << 20)
    assert fetch(b"x" * (1 << 20)) == {}
    with pytest.raises(EndpointError, match="a line of more than 1 MB"):
        fetch(b"x" * ((1 << 20) + 1))


def test_a_file_that_is_gone_is_not_a_batch_that_is():
    client = client_of(answering())

    async def run():
        async with client:
            await fetch_lines(client, "none", {"k"}, 0.0)

    with pytest.raises(EndpointError, match="/files/none/content: 404: no such thing") as error:
        asyncio.run(run())
    assert type(error.value) is EndpointError and error.value.kind == "batch"


@pytest.mark.parametrize("found", [None, "", 3, "../x", "a/../b", "a b", "x" * 257, "."])
def test_no_id(found):
    with pytest.raises(EndpointError, match="as the key of a file or batch") as error:
        read_id({"key": found}, "key")
    assert error.value.kind == "batch"


def test_ids():
    assert read_id({"id": "file-1:a"}) == "file-1:a" and read_id({"id": "x" * 256}) == "x" * 256


# trying again


def attempts(*results, retries=3, wanted=None):
    left = list(results)

    async def attempt():
        found = left.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    return asyncio.run(insist(client_of(answering(), retries=retries), "/p", attempt, wanted)), left


def test_pauses_between_attempts(naps):
    failed = RequestFailed("server", "oops", 500)
    assert attempts(failed, RequestFailed("busy", "later", 429, 7.0), ReplyError("odd"), "fine") == ("fine", [])
    assert naps == [0.5, 7.0, 2.0]
    naps.clear()
    attempts(RequestFailed("busy", "later", 429, 700.0), "fine")
    assert naps == [60.0]


@pytest.mark.parametrize(
    ("error", "kind", "tries"),
    [
        (RequestRefused("refused", "no", 400), EndpointError, 1),
        (EndpointClosed("forbidden", "no", 401), EndpointError, 1),
        (RequestFailed("server", "no", 404), UnknownError, 1),
        (RequestFailed("server", "no", 405), UnknownError, 1),
        (RequestFailed("server", "no", 500), EndpointError, 4),
        (ReplyError("no"), EndpointError, 4),
    ],
)
def test_how_often_it_is_tried(naps, error, kind, tries):
    with pytest.raises(EndpointError, match="/p: no") as raised:
        attempts(*[error] * 9)
    assert (type(raised.value), raised.value.kind, raised.value.attempts) == (kind, "batch", tries)
    with pytest.raises(EndpointError) as raised:
        attempts(*[error] * 9, wanted=0)
    assert raised.value.attempts == 1


def test_a_reply_that_is_no_object():
    batches = answering()
    batches.files["list"] = b"[1]"

    async def run():
        async with client_of(batches, retries=0) as client:
            return await talk(client, "GET", "/files/list")

    with pytest.raises(EndpointError, match="/files/list: the reply is no object"):
        asyncio.run(run())


# the client


def collect(batcher_of, *calls):
    async def run():
        async with batcher_of() as batcher:
            found = await asyncio.gather(*(batcher.ask(call) for call in calls), return_exceptions=True)
        return found, batcher

    return asyncio.run(run())


def test_calls_of_one_turn_are_one_batch_and_the_ledger_is_empty_after_it(naps):
    batches, ledger = answering(), Notebook()
    found, batcher = collect(lambda: Batcher(client_of(batches), ledger, pause=0.01), ONE, TWO, THREE)
    assert [answer.text for answer in found] == ["one", "two", "three"] and len(batches.known) == 1
    keys = (ONE.key, TWO.key, THREE.key)
    assert ledger.steps == [("put", None, keys), ("put", "batch-0", keys), ("drop", "batch-0")] and not ledger.held
    assert not batcher.sent and not batcher.waiting and not batcher.calls and not batcher.queue


def test_defaults_of_a_batcher():
    batcher = Batcher(client_of(answering()), Notebook())
    assert (batcher.busy(), batcher.pause, batcher.longest) == (False, 30.0, 93_600.0)
    assert Sent("t", ()).id is None


def test_a_batch_waits_while_more_calls_may_come(naps):
    busy = [True, True, False, False]
    found, _ = collect(lambda: Batcher(client_of(answering()), Notebook(), lambda: busy.pop(0), 0.01), ONE)
    assert found[0].text == "one" and naps.count(0.02) == 2


def test_a_batch_under_way_is_not_sent_again_and_answers_wait_for_their_callers():
    batches = answering()

    async def run():
        client = client_of(batches)
        async with client:
            name = await send_batch(client, [ONE, TWO], "t")
        ledger = Notebook(Sent("t", (ONE.key, TWO.key), name))
        async with Batcher(client_of(batches), ledger, pause=0.01) as batcher:
            first = await batcher.ask(ONE)
            assert list(batcher.arrived) == [TWO.key] and "t" not in batcher.over
            second = await batcher.ask(TWO)
        return first.text, second.text, ledger

    first, second, ledger = asyncio.run(run())
    assert (first, second) == ("one", "two") and len(batches.known) == 1 and ledger.steps == [("drop", "batch-0")]


def test_a_batch_that_was_about_to_be_made_is_looked_for_by_its_tag():
    batches = answering()

    async def run():
        async with client_of(batches) as client:
            await send_batch(client, [ONE], "known")
        ledger = Notebook(Sent("known", (ONE.key,)), Sent("unknown", (TWO.key,)))
        async with Batcher(client_of(batches), ledger, pause=0.01) as batcher:
            assert batcher.sent == {ONE.key: Sent("known", (ONE.key,), "batch-0")}
        return ledger.steps

    assert asyncio.run(run()) == [("put", "batch-0", (ONE.key,)), ("drop", None)]


def test_a_line_that_failed_is_noted_and_raised():
    batches = Batches(lambda b: (500, {"error": "too hot"}))
    notes: list[Attempt] = []
    found, _ = collect(lambda: Batcher(client_of(batches, notes.append), Notebook(), pause=0.01), ONE)
    assert (type(found[0]), found[0].kind, str(found[0])) == (CallError, "batch", "500: too hot")
    assert notes == [Attempt(ONE.key, "batch", "500: too hot")]


def test_a_refused_schema_is_left_out_of_the_second_batch_and_of_no_third():
    def refuse(b):
        return (400, {"error": "no schema"}) if "response_format" in b or "stay" in str(b) else (200, complete(b, "so"))

    batches = Batches(refuse)
    calls = [Call("m", "go", schema={"type": "object"}), Call("m", "stay", schema={"type": "object"})]
    found, batcher = collect(lambda: Batcher(client_of(batches), Notebook(), pause=0.01), *calls)
    assert found[0].text == "so" and str(found[1]) == "400: no schema" and len(batches.known) == 2
    assert batcher.client.with_schema is False and batcher.plain == {call.key for call in calls}


def test_an_endpoint_without_batches():
    class Missing(Batches):
        def serve(self, method, path, data):
            return 404, {"error": "no such page"}

    ledger = Notebook()
    found, _ = collect(lambda: Batcher(client_of(Missing(lambda b: (200, {}))), ledger), ONE, TWO)
    assert [type(f) for f in found] == [EndpointError] * 2 and ledger.held == {}
    assert str(found[0]).startswith("fake: takes no batches (/files: 404: no such page")


def test_a_batch_that_is_lost_is_sent_once_more_and_then_given_up():
    class Losing(Batches):
        def serve(self, method, path, data):
            return (404, {}) if path.startswith("/batches/") else super().serve(method, path, data)

    batches, ledger = Losing(lambda b: (200, {})), Notebook()
    found, _ = collect(lambda: Batcher(client_of(batches), ledger, pause=0.01), ONE)
    assert str(found[0]).startswith("the endpoint loses its batches (/batches/batch-1: 404")
    assert len(batches.known) == 2 and [step[0] for step in ledger.steps] == ["put", "put", "drop"] * 2


def test_a_file_that_cannot_be_sent_stays_in_the_ledger():
    class Broken(Batches):
        def serve(self, method, path, data):
            return 400, {"error": "no room"}

    ledger = Notebook()
    found, _ = collect(lambda: Batcher(client_of(Broken(lambda b: (200, {}))), ledger), ONE)
    assert (
        str(found[0]) == "/files: 400: no room"
        and len(ledger.held) == 1
        and ledger.steps == [("put", None, (ONE.key,))]
    )


def test_after_an_error_the_ledger_keeps_what_was_delivered():
    ledger = Notebook()

    async def run():
        async with Batcher(client_of(answering()), ledger, pause=0.01) as batcher:
            await batcher.ask(ONE)
            raise KeyError("ours")

    with pytest.raises(KeyError):
        asyncio.run(run())
    assert [sent.id for sent in ledger.held.values()] == ["batch-0"]


def test_after_a_fault_nothing_is_asked():
    async def run():
        async with Batcher(client_of(answering()), Notebook()) as batcher:
            batcher.fault = KeyError("ours")
            await batcher.ask(ONE)

    with pytest.raises(KeyError, match="ours"):
        asyncio.run(run())
