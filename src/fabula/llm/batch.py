"""Calls through a batch endpoint (POST /files, POST /batches): slower and cheaper, where an endpoint offers it.

A batch is a file of lines {"custom_id": the call's key, "method", "url", "body"}. Its answers return by that id in any
order, and a failed line is a CallError like any other.

    send_batch  sends calls as one batch; wait_batch waits for its answers
    Batcher     a client that collects calls and sends them together

Nothing is sent twice, even if the process is killed. Before a batch is created its tag and keys are written to a
ledger; the tag is also the batch's metadata, and the ledger gets the batch's id as soon as it is known. After a kill
in between, the batch is looked up by its tag in the endpoint's list (GET /batches); if it is absent, it was never
created.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar
from urllib.parse import quote

from fabula.core.errors import shown
from fabula.llm.answer import Answer, Attempt, CallError, EndpointError, ReplyError
from fabula.llm.call import Body, Call
from fabula.llm.client import FIRST, SLOWEST, HttpClient
from fabula.llm.wire import (
    LONGEST,
    EndpointClosed,
    Request,
    RequestFailed,
    RequestRefused,
    describe_document,
    read_json,
)

MOST = 50_000  # calls of one batch, as hosts have it
HEAVIEST = 90 << 20  # bytes of one batch
ENDED = ("completed", "failed", "expired", "cancelled")
ANSWER = 32 << 10  # bytes of a line of answers, on the average; the file of a batch has LONGEST more
SPARE = 1000  # lines that a file of answers may have beyond two for each call
WAIT = 26 * 3600.0  # seconds that a batch is waited for; hosts promise 24 hours
LISTED = 100  # batches on a page of the endpoint's list
PAGES = 50  # of it that are looked through for a tag
QUIET = 50  # turns of the loop without a new call, after which nothing else moves
TAG = "fabula"  # our word in a batch's metadata

ID = re.compile(r"(?!.*(?:^|/)\.{0,2}(?:/|$))[A-Za-z0-9._~:@=+/-]{1,256}")  # of a file or batch: no path out of its own

Answers = dict[str, Answer | CallError]  # by the calls' keys
T = TypeVar("T")


class UnknownError(EndpointError):
    """The endpoint does not know this batch, or does not offer batches."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A batch that was created, or was about to be."""

    tag: str
    keys: tuple[str, ...]
    id: str | None = None  # None: it is not known whether it was created


class Ledger(Protocol):
    """Remembers batches."""

    def batches(self) -> Iterable[Sent]: ...
    def put_batch(self, sent: Sent) -> None:
        """Store a batch; one with an id replaces the same one without."""

    def drop_batch(self, tag: str) -> None: ...


def cut_batches(calls: Sequence[Call]) -> Iterator[list[Call]]:
    """Split calls into batches of the sizes that hosts accept."""
    batch: list[Call] = []
    size = 0
    for call in calls:
        own = call.weight
        if batch and (len(batch) == MOST or size + own > HEAVIEST):
            yield batch
            batch, size = [], 0
        batch.append(call)
        size += own
    if batch:
        yield batch


# ── one batch ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def send_batch(client: HttpClient, calls: Sequence[Call], tag: str) -> str:
    """Create a batch with this tag; returns its id."""
    lines = [
        {"custom_id": c.key, "method": "POST", "url": "/v1/chat/completions", "body": c.body(client.with_schema)}
        for c in calls
    ]
    data = "".join(json.dumps(line, ensure_ascii=True) + "\n" for line in lines).encode()
    file = await talk(client, "POST", "/files", *make_form(data))
    wanted = {
        "input_file_id": read_id(file),
        "endpoint": "/v1/chat/completions",
        "completion_window": "24h",
        "metadata": {TAG: tag},
    }
    body = json.dumps(wanted).encode()
    tries = 0
    while True:
        try:
            return read_id(await talk(client, "POST", "/batches", body, retries=0))
        except UnknownError:
            raise
        except EndpointError:
            tries += 1
            if tries > client.options.retries or not await is_listing(client):
                raise
            if batch := await find_batch(client, tag):  # it was created, and its reply was lost
                return batch
            await asyncio.sleep(min(SLOWEST, FIRST * 2**tries))


async def wait_batch(
    client: HttpClient, batch: str, keys: Sequence[str], pause: float = 30.0, longest: float = WAIT
) -> Answers:
    """Wait for the answers of a batch. UnknownError: the endpoint does not know it."""
    began, path = time.perf_counter(), f"/batches/{quote(read_id({'id': batch}))}"
    while (state := await talk(client, "GET", path)).get("status") not in ENDED:
        if not isinstance(state.get("status"), str):
            raise EndpointError(client.clean(f"{path}: its status is {shown(state.get('status'))}"), "batch")
        if time.perf_counter() - began + pause > longest:
            raise EndpointError(f"{path}: still {client.clean(state['status'])} after {longest:g} s", "batch")
        await asyncio.sleep(pause)
    seconds = (time.perf_counter() - began) / max(1, len(keys))
    found: Answers = {}
    for name in ("output_file_id", "error_file_id"):
        if state.get(name):
            found |= await fetch_lines(client, read_id(state, name), set(keys), seconds)
    lost = f"the batch {batch} ({state['status']}) has no answer to this call"
    return {key: found.get(key, CallError(client.clean(lost), "batch")) for key in keys}


async def is_listing(client: HttpClient) -> bool:
    """Whether the endpoint lists its batches."""
    try:
        await talk(client, "GET", "/batches?limit=1")
        return True
    except UnknownError:
        return False


async def find_batch(client: HttpClient, tag: str) -> str | None:
    """The id of the batch with this tag, if the endpoint has it."""
    after = ""
    try:
        async with asyncio.timeout(client.options.timeout):
            for _ in range(PAGES):
                listed = await talk(client, "GET", f"/batches?limit={LISTED}{after}")
                entries = listed.get("data")
                entries = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
                for entry in entries:
                    metadata = entry.get("metadata")
                    if isinstance(metadata, dict) and metadata.get(TAG) == tag:
                        return read_id(entry)
                if not listed.get("has_more") or not entries:
                    return None
                after = f"&after={quote(read_id(entries[-1]), safe='')}"
    except TimeoutError:
        raise EndpointError("/batches: the list of batches takes too long", "batch") from None
    return None


def read_id(document: Body, name: str = "id") -> str:
    """The id of a file or a batch. EndpointError: it cannot be part of a URL."""
    found = document.get(name)
    if not isinstance(found, str) or not ID.fullmatch(found):
        raise EndpointError(f"the endpoint gives {shown(found)} as the {name} of a file or batch", "batch")
    return found


def read_line(client: HttpClient, line: bytes, wanted: Collection[str], seconds: float) -> Answers:
    """One answer of a batch, by its key; empty if the line is not an answer or its key is not wanted."""
    try:
        document = read_json(line, client.secret)
    except ReplyError:
        return {}
    key = document.get("custom_id") if isinstance(document, dict) else None
    response = document.get("response") if isinstance(document, dict) else None
    if not isinstance(key, str) or key not in wanted or not isinstance(response, dict):
        return {}
    if response.get("status_code") != 200:
        message = f"{shown(response.get('status_code'), 20)}: {describe_document(response.get('body'))}"
        return {key: CallError(client.clean(message), "batch")}
    try:
        return {key: client.read_answer(response.get("body"), seconds)}
    except ReplyError as error:
        failed = CallError(client.clean(str(error)), error.kind)
        failed.usage = error.usage
        return {key: failed}


# ── a client ──────────────────────────────────────────────────────────────────────────────────────────────────────


class Batcher:
    """`async with Batcher(client, ledger) as client`: collects calls and sends them in batches.

    `busy()` is true while work that may lead to more calls runs (threads that decode frames): a batch waits for it.
    """

    def __init__(
        self,
        client: HttpClient,
        ledger: Ledger,
        busy: Callable[[], bool] = lambda: False,
        pause: float = 30.0,
        longest: float = WAIT,
    ) -> None:
        self.client, self.ledger, self.busy, self.pause, self.longest = client, ledger, busy, pause, longest
        self.sent: dict[str, Sent] = {}  # batches under way, by the calls' keys
        self.waiting: dict[str, asyncio.Future[Answer]] = {}
        self.arrived: Answers = {}  # answers that no caller waits for yet
        self.queue: list[Call] = []
        self.calls: dict[str, Call] = {}  # calls that wait for an answer
        self.plain: set[str] = set()  # keys that were sent without a schema
        self.lost: set[str] = set()  # keys of a batch that the endpoint lost once
        self.fault: BaseException | None = None  # the error that ended one of the tasks
        self.over: set[str] = set()  # tags of batches whose answers have all been delivered
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def __aenter__(self) -> Batcher:
        for sent in list(self.ledger.batches()):
            if sent.id is None:  # the process was killed while it was created
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
        if kind is None:  # all delivered answers are stored by now
            for tag in self.over:
                self.ledger.drop_batch(tag)

    async def ask(self, call: Call) -> Answer:
        """The answer, once its batch is done. CallError: its line failed."""
        if self.fault is not None:
            raise self.fault
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
            self.begin(self.sent[call.key])
        else:
            self.queue.append(call)
            self.begin()
        return await future

    def begin(self, sent: Sent | None = None) -> None:
        """Wait for a batch, or send what is queued, in a task of its own, unless one is under way."""
        name = sent.tag if sent else "send"
        if name not in self.tasks or self.tasks[name].done():
            self.tasks[name] = asyncio.create_task(self.supervise(self.wait(sent) if sent else self.send_when_quiet()))

    async def supervise(self, work: Awaitable[None]) -> None:
        """Run a task that nothing awaits: its error reaches every caller that waits for an answer."""
        try:
            await work
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self.fault = error
            for future in self.waiting.values():
                if not future.done():
                    future.set_exception(error)
            self.waiting.clear()
            if not isinstance(error, Exception):
                raise

    async def send_when_quiet(self) -> None:
        """Send all queued calls, in one or more batches, once no new calls arrive."""
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
            message = f"{self.client.options.url} takes no batches ({error})"
            self.fail(sent.keys, EndpointError(message, "batch"))
            self.ledger.drop_batch(sent.tag)
            return
        except CallError as error:
            self.fail(sent.keys, error)
            return  # the ledger keeps it: its tag shows later whether it was created
        self.ledger.put_batch(sent)
        self.sent |= dict.fromkeys(sent.keys, sent)
        self.begin(sent)

    async def wait(self, sent: Sent) -> None:
        assert sent.id is not None
        try:
            found = await wait_batch(self.client, sent.id, sent.keys, self.pause, self.longest)
        except UnknownError as error:  # it is gone: calls that still wait are sent again, once
            self.ledger.drop_batch(sent.tag)
            for key in sent.keys:
                self.sent.pop(key, None)
            if self.lost & set(sent.keys):
                self.fail(sent.keys, EndpointError(f"the endpoint loses its batches ({error})", "batch"))
                return
            self.lost |= set(sent.keys)
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
            self.begin()

    def is_about_schema(self, key: str, error: CallError) -> bool:
        """Whether the endpoint refuses only the schema, and was not asked without it before."""
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
    client: HttpClient,
    method: str,
    path: str,
    content: bytes = b"",
    headers: dict[str, str] | None = None,
    retries: int | None = None,
) -> Body:
    """Send a small request; returns the JSON object of its reply. UnknownError: 404."""

    async def attempt() -> Body:
        reply = await client.fetch_good(Request(method, path, content, headers))
        document = read_json(reply.body, client.secret)
        if not isinstance(document, dict):
            raise ReplyError("the reply is no object")
        return document

    return await insist(client, path, attempt, retries)


async def fetch_lines(client: HttpClient, file: str, wanted: Collection[str], seconds: float) -> Answers:
    """The answers in a file of the endpoint, read line by line as they arrive."""
    path = f"/files/{quote(file)}/content"

    async def attempt() -> Answers:
        found: Answers = {}
        rest, read = bytearray(), 0

        def take(piece: bytes) -> None:
            nonlocal read
            rest.extend(piece)
            if b"\n" in piece:
                *lines, last = rest.split(b"\n")
                for line in filter(bytes.strip, map(bytes, lines)):
                    found.update(read_line(client, line, wanted, seconds))
                    read += 1
                    if read > 2 * len(wanted) + SPARE:
                        raise RequestFailed("length", f"more than {read - 1:,} lines to {len(wanted):,} calls")
                rest[:] = last
            if len(rest) > LONGEST:
                raise RequestFailed("length", f"a line of more than {LONGEST >> 20} MB")

        await client.fetch_good(Request("GET", path, limit=LONGEST + ANSWER * len(wanted), take=take))
        return found | read_line(client, bytes(rest), wanted, seconds)

    try:
        return await insist(client, path, attempt)
    except UnknownError as error:  # of the file, not of the batch
        raise EndpointError(str(error), "batch") from None


async def insist(client: HttpClient, path: str, attempt: Callable[[], Awaitable[T]], retries: int | None = None) -> T:
    """Repeat an attempt until it succeeds, while another try may help."""
    tries, most = 0, client.options.retries if retries is None else retries
    while True:
        tries += 1
        try:
            return await attempt()
        except (RequestFailed, ReplyError) as error:
            failure = error if isinstance(error, RequestFailed) else RequestFailed(error.kind, str(error))
        message = client.clean(f"{path}: {failure.message}")
        if failure.status in (404, 405):
            raise UnknownError(message, "batch", tries)
        if isinstance(failure, RequestRefused | EndpointClosed) or tries > most:
            raise EndpointError(message, "batch", tries)
        pause = FIRST * 2 ** (tries - 1) if failure.wait is None else failure.wait
        await asyncio.sleep(min(SLOWEST, pause))


def make_form(data: bytes) -> tuple[bytes, dict[str, str]]:
    """The lines of a batch as the body and header of a form, for POST /files."""
    mark = uuid.uuid4().hex
    parts = (
        f'--{mark}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        f'--{mark}\r\ncontent-disposition: form-data; name="file"; filename="batch.jsonl"\r\n'
        "content-type: application/octet-stream\r\n\r\n"
    )
    body = parts.encode() + data + f"\r\n--{mark}--\r\n".encode()
    return body, {"content-type": f"multipart/form-data; boundary={mark}"}
