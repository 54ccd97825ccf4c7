"""Calls through a batch endpoint (POST /files, POST /batches): slower, and cheaper where it is offered.

A batch is a file of lines {"custom_id": the call's key, "method", "url", "body"}; its answers come back by that id in
any order, and a line that failed is a CallError like any other.

    ask_batch   the answers of some calls, sent as one batch or waited for where they were sent before
    Batcher     an asker: calls that are asked for while nothing else moves go out together

Nothing is sent twice, whenever the process dies. Before a batch is made its tag and keys go into a ledger, the tag goes
along as the batch's metadata, and its id is written beside the tag when it is known. What died in between is found by
its tag in the endpoint's list (GET /batches); where the endpoint has no such batch, it was never made.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fabula.llm.answer import Answer, Attempt, CallError, EndpointError, ReplyError, read_document
from fabula.llm.call import Call
from fabula.llm.client import AGAIN, CONNECT, FIRST, SLOWEST, Client, read_error, read_wait

MOST = 50_000  # calls of one batch, as hosts have it
HEAVIEST = 90 << 20  # bytes of one batch
ENDED = ("completed", "failed", "expired", "cancelled")
LONGEST = 1 << 30  # bytes of the answers of one batch
LISTED = 100  # batches on a page of the endpoint's list
PAGES = 50  # of it that are looked through for a tag
QUIET = 50  # turns of the loop without a new call, after which nothing else moves
TAG = "fabula"  # our word in a batch's metadata

Found = dict[str, Answer | CallError]


class UnknownError(Exception):
    """The endpoint knows nothing of this batch, or of batches at all."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A batch that was made, or was about to be."""

    tag: str
    keys: tuple[str, ...]
    id: str | None = None  # None: nobody knows whether it was made


class Ledger(Protocol):
    """Where batches are remembered."""

    def batches(self) -> Iterable[Sent]: ...
    def put_batch(self, sent: Sent) -> None:
        """Also: with its id, in the place of the one without."""

    def drop_batch(self, tag: str) -> None: ...


def cut_batches(calls: Sequence[Call]) -> Iterator[list[Call]]:
    """In the sizes that hosts take."""
    held: list[Call] = []
    size = 0
    for call in calls:
        own = len(call.prompt) + sum(len(i.data or b"") * 4 // 3 for i in call.images) + 2000
        if held and (len(held) == MOST or size + own > HEAVIEST):
            yield held
            held, size = [], 0
        held.append(call)
        size += own
    if held:
        yield held


# ── one batch ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def ask_batch(
    client: Client,
    calls: Sequence[Call],
    *,
    known: str | None = None,
    remember: Callable[[str], None] = lambda batch: None,
    pause: float = 30.0,
) -> Found:
    """The answers of one batch by their keys. `known` is the id of a batch that was sent before with these calls."""
    batch = known
    if batch is None:
        batch = await send_batch(client, calls, uuid.uuid4().hex)
        remember(batch)
    return await wait_batch(client, batch, [call.key for call in calls], pause)


async def send_batch(client: Client, calls: Sequence[Call], tag: str) -> str:
    """Make a batch of that tag; returns its id."""
    lines = [
        {"custom_id": c.key, "method": "POST", "url": "/v1/chat/completions", "body": c.body(client.with_schema)}
        for c in calls
    ]
    data = "".join(json.dumps(line, ensure_ascii=True) + "\n" for line in lines).encode()
    file = await talk(client, "POST", "/files", files=data)
    wanted = {
        "input_file_id": file["id"],
        "endpoint": "/v1/chat/completions",
        "completion_window": "24h",
        "metadata": {TAG: tag},
    }
    tries = 0
    while True:
        try:
            return str((await talk(client, "POST", "/batches", json=wanted, retries=0))["id"])
        except EndpointError:
            tries += 1
            if tries > client.options.retries or not await is_listing(client):
                raise
            if batch := await find_batch(client, tag):  # it was made, and its reply was lost
                return batch
            await asyncio.sleep(min(SLOWEST, FIRST * 2**tries))


async def wait_batch(client: Client, batch: str, keys: Sequence[str], pause: float = 30.0) -> Found:
    """The answers of a batch that was made; UnknownError where the endpoint does not know it."""
    began = time.perf_counter()
    while (state := await talk(client, "GET", f"/batches/{batch}")).get("status") not in ENDED:
        await asyncio.sleep(pause)
    seconds = (time.perf_counter() - began) / max(1, len(keys))
    found: Found = {}
    for name in ("output_file_id", "error_file_id"):
        if state.get(name):
            for line in (await fetch(client, str(state[name]))).splitlines():
                found |= read_line(client, line, seconds)
    lost = f"the batch {batch} ({state.get('status')}) has no answer to this call"
    return {key: found.get(key, CallError(client.clean(lost), "batch")) for key in keys}


async def is_listing(client: Client) -> bool:
    """Whether the endpoint lists its batches."""
    try:
        await talk(client, "GET", "/batches?limit=1")
        return True
    except UnknownError:
        return False


async def find_batch(client: Client, tag: str) -> str | None:
    """The id of the batch of that tag, if the endpoint has it."""
    after = ""
    for _ in range(PAGES):
        listed = await talk(client, "GET", f"/batches?limit={LISTED}{after}")
        some = listed.get("data")
        some = [entry for entry in some if isinstance(entry, dict)] if isinstance(some, list) else []
        for entry in some:
            told = entry.get("metadata")
            if isinstance(told, dict) and told.get(TAG) == tag:
                return str(entry["id"])
        if not listed.get("has_more") or not some:
            return None
        after = f"&after={some[-1].get('id')}"
    return None


def read_line(client: Client, line: bytes, seconds: float) -> Found:
    """One answer of a batch, by its key; nothing where the line is not one."""
    try:
        told = json.loads(line)
        key, response = str(told["custom_id"]), told["response"]
        if response["status_code"] != 200:
            said = client.clean(f"{response['status_code']}: {read_error(json.dumps(response['body']).encode())}")
            return {key: CallError(said, "batch")}
        answer = read_document(response["body"], seconds)
        return {key: Answer(client.without_key(answer.text), *list(answer.to_dict().values())[1:])}
    except ReplyError as error:
        failed = CallError(client.clean(str(error)), error.kind)
        failed.usage = error.usage
        return {key: failed}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}


# ── an asker ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Batcher:
    """`async with Batcher(client, ledger) as asker`: many are asked at once, and answered batch by batch.

    `busy()` is true while somebody is at work who may ask next (frames are decoded in threads): a batch waits for that.
    """

    def __init__(
        self, client: Client, ledger: Ledger, busy: Callable[[], bool] = lambda: False, pause: float = 30.0
    ) -> None:
        self.client, self.ledger, self.busy, self.pause = client, ledger, busy, pause
        self.sent: dict[str, Sent] = {}  # by key, what is under way
        self.waiting: dict[str, asyncio.Future[Answer]] = {}
        self.arrived: Found = {}  # answers that nobody has asked for yet
        self.queue: list[Call] = []
        self.calls: dict[str, Call] = {}  # of those that wait
        self.plain: set[str] = set()  # keys that were sent without a schema
        self.over: set[str] = set()  # tags of batches whose answers have all been handed out
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def __aenter__(self) -> Batcher:
        for sent in list(self.ledger.batches()):
            if sent.id is None:  # died while it was made
                batch = await find_batch(self.client, sent.tag) if await is_listing(self.client) else None
                if batch is None:
                    self.ledger.drop_batch(sent.tag)
                    continue
                sent = Sent(sent.tag, sent.keys, batch)
                self.ledger.put_batch(sent)
            self.sent |= dict.fromkeys(sent.keys, sent)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *error: object) -> None:
        for task in self.tasks.values():
            task.cancel()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)
        if kind is None:  # whatever was handed out has been stored by now
            for tag in self.over:
                self.ledger.drop_batch(tag)

    async def ask(self, call: Call) -> Answer:
        """The answer, when its batch has come back; CallError where its line failed."""
        await self.client.check_context(call)
        try:
            return await self.find(call)
        except EndpointError:
            raise
        except CallError as error:
            self.client.note(Attempt(call.key, error.kind, str(error), None, 0.0, *error.usage))
            raise

    async def find(self, call: Call) -> Answer:
        if call.key in self.arrived:
            found = self.arrived.pop(call.key)
            self.close_if_over(self.sent.pop(call.key))
            if isinstance(found, CallError):
                raise found
            return found
        future = self.waiting.setdefault(call.key, asyncio.get_running_loop().create_future())
        self.calls[call.key] = call
        if call.key in self.sent:
            self.watch(self.sent[call.key])
        else:
            self.queue.append(call)
            self.begin("send", self.send_when_quiet)
        return await future

    def begin(self, name: str, work: Callable[[], Any]) -> None:
        if name not in self.tasks or self.tasks[name].done():
            self.tasks[name] = asyncio.create_task(work())

    def watch(self, sent: Sent) -> None:
        self.begin(sent.tag, lambda: self.wait(sent))

    async def send_when_quiet(self) -> None:
        """One batch, or several, of all that was asked for before everybody waited."""
        while self.queue:
            before = len(self.queue)
            for _ in range(QUIET):
                await asyncio.sleep(0)
            if self.busy():
                await asyncio.sleep(0.02)
                continue
            if len(self.queue) != before:
                continue
            calls, self.queue = self.queue, []
            for part in cut_batches(calls):
                await self.send(part)

    async def send(self, calls: list[Call]) -> None:
        sent = Sent(uuid.uuid4().hex, tuple(call.key for call in calls))
        self.ledger.put_batch(sent)
        try:
            sent = Sent(sent.tag, sent.keys, await send_batch(self.client, calls, sent.tag))
        except UnknownError as error:
            self.fail(sent.keys, EndpointError(f"{self.client.options.url} takes no batches ({error})", "batch"))
            self.ledger.drop_batch(sent.tag)
            return
        except CallError as error:
            self.fail(sent.keys, error)
            return  # the ledger keeps it: whether it was made is found out by its tag
        self.ledger.put_batch(sent)
        self.sent |= dict.fromkeys(sent.keys, sent)
        self.watch(sent)

    async def wait(self, sent: Sent) -> None:
        assert sent.id is not None
        try:
            found = await wait_batch(self.client, sent.id, sent.keys, self.pause)
        except UnknownError:  # it is gone: what is still wanted of it is sent anew
            self.ledger.drop_batch(sent.tag)
            for key in sent.keys:
                self.sent.pop(key, None)
            self.ask_again([key for key in sent.keys if key in self.waiting])
            return
        except CallError as error:
            self.fail(sent.keys, error)
            return
        again = []
        for key, answer in found.items():
            if key not in self.waiting:
                self.arrived[key] = answer
            elif isinstance(answer, CallError) and self.is_about_schema(key, answer):
                again.append(key)
            else:
                self.hand_out(key, answer)
        if again:
            self.client.with_schema = False
            for key in again:
                self.plain.add(key)
                self.sent.pop(key, None)
            self.ask_again(again)
        self.close_if_over(sent)

    def ask_again(self, keys: Sequence[str]) -> None:
        self.queue += [self.calls[key] for key in keys]
        if keys:
            self.begin("send", self.send_when_quiet)

    def is_about_schema(self, key: str, error: CallError) -> bool:
        """Whether the endpoint refused the schema alone, and was not asked without it before."""
        wanted = self.calls[key].schema is not None and key not in self.plain
        return (
            wanted
            and self.client.options.schema == "auto"
            and any(w in str(error) for w in ("schema", "response_format"))
        )

    def hand_out(self, key: str, answer: Answer | CallError) -> None:
        self.sent.pop(key, None)
        self.calls.pop(key, None)
        future = self.waiting.pop(key)
        if future.done():
            return
        if isinstance(answer, CallError):
            future.set_exception(answer)
        else:
            future.set_result(answer)

    def fail(self, keys: Iterable[str], error: CallError) -> None:
        for key in keys:
            if key in self.waiting:
                self.hand_out(key, error)

    def close_if_over(self, sent: Sent) -> None:
        if not any(self.sent.get(key) is sent for key in sent.keys):
            self.over.add(sent.tag)


# ── requests ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def talk(
    client: Client, method: str, path: str, json: Any = None, files: bytes | None = None, retries: int | None = None
) -> dict[str, Any]:
    """A small request and its JSON, tried again where that may help. UnknownError: 404."""
    tries, most = 0, client.options.retries if retries is None else retries
    while True:
        tries += 1
        try:
            status, document, wait = await request(client, method, path, json, files)
        except ConnectionError as error:
            if tries > most:
                raise EndpointError(client.clean(f"{path}: {error}"), "batch", tries) from None
            status, document, wait = 0, {}, None
        if status == 200:
            return document
        said = client.clean(f"{path}: {status}: {document.get('said', '')}")
        if status in (404, 405):
            raise UnknownError(said)
        if status and (status not in AGAIN or tries > most):
            raise EndpointError(said, "batch", tries)
        await asyncio.sleep(min(SLOWEST, FIRST * 2 ** (tries - 1)) if wait is None else min(wait, SLOWEST))


async def request(
    client: Client, method: str, path: str, json: Any, files: bytes | None
) -> tuple[int, dict[str, Any], float | None]:
    """Status, document and how long to wait; of a failure {"said": …}. ConnectionError where there is no reply."""
    import httpx

    assert client.http is not None
    http, headers = client.http, dict(client.http.headers)
    if files is None:
        asked = http.build_request(method, path, json=json)
    else:
        headers.pop("content-type")  # a boundary belongs into it
        form = {"files": {"file": ("batch.jsonl", files)}, "data": {"purpose": "batch"}}
        asked = httpx.Request(method, http.base_url.join(path.lstrip("/")), headers=headers, **form)  # type: ignore[arg-type]
    try:
        reply = await http.send(asked)
        if reply.status_code != 200:
            wait = read_wait(reply.headers.get("retry-after-ms"), reply.headers.get("retry-after"))
            return reply.status_code, {"said": read_error(reply.content)}, wait
        document = reply.json()
        if not isinstance(document, dict) or (method == "POST" and "id" not in document):
            raise ValueError("no id in the reply")
        return 200, document, None
    except (httpx.HTTPError, ValueError) as error:
        raise ConnectionError(str(error) or type(error).__name__) from None


async def fetch(client: Client, file: str) -> bytes:
    import httpx

    assert client.http is not None
    tries = 0
    while True:
        held = bytearray()
        try:
            async with client.http.stream("GET", f"/files/{file}/content", timeout=CONNECT * 10) as reply:
                async for piece in reply.aiter_bytes():
                    held += piece
                    if len(held) > LONGEST:
                        raise EndpointError(f"the answers of a batch have more than {LONGEST >> 20} MB", "batch")
            if reply.status_code == 200:
                return bytes(held)
            said = f"/files: {reply.status_code}: {read_error(bytes(held))}"
        except httpx.HTTPError as error:
            said = f"/files: {error}"
        tries += 1
        if tries > client.options.retries:
            raise EndpointError(client.clean(said), "batch", tries)
        await asyncio.sleep(min(SLOWEST, FIRST * 2 ** (tries - 1)))
