"""An endpoint that ships: for dry runs in this process (`--url fake:`), and as a server on the loopback for tests.

What it answers is a function of the request, `reply(body) → text`. The server fails as real ones do, where it is told
to: `fault(n, body)` names the fault of the n-th request.

    busy        429 with Retry-After            server      500
    silent      no reply at all                 cut         the connection ends within the reply
    truncated   JSON that ends too early        shape       JSON of another kind
    huge        10 MB                           empty       an answer without words
    closed      401, with the key in its text   text:…      these words as the answer

It bounds itself as well: so many requests at once (`slots`), each of so many seconds, and so many a second (`rate`),
beyond which it says 429. It keeps a log of what it answered, and the most that were under way at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from fabula.llm.call import Body, count_tokens

Reply = Callable[[Body], str]
Fault = Callable[[int, Body], str | None]
HUGE = 10 << 20
CRLF = b"\r\n"


def echo(body: Body) -> str:
    """The first words of what was asked."""
    return " ".join(read_prompt(body).split()[:20]) or "nothing"


def read_prompt(body: Body) -> str:
    """The text of the last message."""
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def count_images(body: Body) -> int:
    content = body["messages"][-1]["content"]
    return 0 if isinstance(content, str) else sum(part.get("type") == "image_url" for part in content)


def complete(body: Body, text: str) -> Body:
    """The reply with this answer, its tokens counted as we count them."""
    used = {"prompt_tokens": count_tokens(read_prompt(body)), "completion_tokens": count_tokens(text)}
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {**used, "total_tokens": sum(used.values())}
    return {"id": "fake", "object": "chat.completion", "model": body["model"], "choices": [choice], "usage": usage}


@dataclass
class FakeReply:
    """A reply that is there already."""

    status_code: int
    data: bytes
    headers: dict[str, str] = field(default_factory=dict)

    async def aiter_raw(self) -> AsyncGenerator[bytes, None]:
        yield self.data


class FakeConnection:
    """A connection to the endpoint without a socket; all connections to one endpoint share its batches."""

    def __init__(self, reply: Reply, batches: Batches) -> None:
        self.reply, self.batches = reply, batches

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, *, content: bytes, headers: Mapping[str, str]
    ) -> AsyncIterator[FakeReply]:
        if path.startswith(("/files", "/batches")):
            status, document = self.batches.serve(method, path, content)
        else:
            status, document = self.batches.answer(json.loads(content))
        yield FakeReply(status, document if isinstance(document, bytes) else json.dumps(document).encode())

    async def aclose(self) -> None:
        """Nothing is open."""


def fake_connections(reply: Reply) -> Callable[[], FakeConnection]:
    """Opens connections to the endpoint that ships."""
    batches = Batches(lambda body: (200, complete(body, reply(body))))
    return lambda: FakeConnection(reply, batches)


@dataclass
class Batches:
    """Files and batches: answered when they are made, told of after so many looks."""

    answer: Callable[[Body], tuple[int, Body | bytes]]
    polls: int = 0  # looks at a batch before it is done
    end: str = "completed"  # or expired, failed: without answers
    files: dict[str, bytes] = field(default_factory=dict)
    known: dict[str, Body] = field(default_factory=dict)

    def serve(self, method: str, path: str, data: bytes) -> tuple[int, Body | bytes]:
        path = path.partition("?")[0]
        parts = path.strip("/").split("/")
        if method == "POST" and path == "/files":
            name = f"file-{len(self.files)}"
            self.files[name] = data.split(CRLF * 2)[-1].rsplit(CRLF + b"--", 1)[0]
            return 200, {"id": name, "object": "file"}
        if method == "POST":
            return self.make(json.loads(data))
        if path == "/batches":
            return 200, {"object": "list", "data": list(self.known.values())[::-1], "has_more": False}
        if parts[0] == "batches" and parts[1] in self.known:
            return self.poll(self.known[parts[1]])
        if parts[0] == "files" and parts[1] in self.files:
            return 200, self.files[parts[1]]
        return 404, {"error": {"message": f"no such thing: {path}"}}

    def make(self, wanted: Body) -> tuple[int, Body | bytes]:
        lines = self.files[wanted["input_file_id"]].splitlines()
        name = f"batch-{len(self.known)}"
        if self.end == "completed":
            out = [self.answer_line(json.loads(line)) for line in lines if line.strip()]
            self.files[f"out-{name}"] = b"\n".join(out)
        batch = {"id": name, "status": "in_progress", "metadata": wanted.get("metadata"), "looks": 0}
        self.known[name] = batch
        return 200, batch

    def poll(self, batch: Body) -> tuple[int, Body | bytes]:
        batch["looks"] += 1
        if batch["looks"] <= self.polls:
            return 200, batch
        done = {"status": self.end} | ({"output_file_id": f"out-{batch['id']}"} if self.end == "completed" else {})
        return 200, {**batch, **done}

    def answer_line(self, line: Body) -> bytes:
        status, document = self.answer(line["body"])
        reply = {"status_code": status, "body": document}
        return json.dumps({"custom_id": line["custom_id"], "response": reply, "error": None}).encode()


@dataclass
class Server:
    """The endpoint on the loopback, in a thread of its own."""

    reply: Reply = echo
    fault: Fault | None = None
    seconds: float = 0.0  # that an answer takes
    slots: int | None = None  # requests it works on at once; others wait
    rate: float | None = None  # requests a second; beyond it, 429
    wait: str = "0.2"  # what Retry-After says
    models: list[Body] = field(default_factory=list)
    port: int = 0
    log: list[tuple[int, Body]] = field(default_factory=list)  # status, request
    keep: Callable[[Body, dict[str, str]], Body] = lambda body, head: body  # what of a request is logged
    most: int = 0  # requests under way at once, at the most
    received: int = 0
    now: int = 0
    batches: Batches = field(init=False)

    def __post_init__(self) -> None:
        self.batches = Batches(self.answer_line)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, ready: Callable[[], None]) -> None:
        self.gate = asyncio.Semaphore(self.slots) if self.slots else contextlib.nullcontext()
        self.tokens, self.filled = self.rate or 0.0, time.monotonic()
        server = await asyncio.start_server(self.connect, "127.0.0.1", self.port, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        self.stop = asyncio.Event()
        ready()
        async with server:
            await self.stop.wait()

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while head := await read_head(reader):
                data = await reader.readexactly(int(head.get("content-length", "0")))
                self.now += 1
                self.most = max(self.most, self.now)
                try:
                    if not await self.handle(head, data, writer):
                        break
                finally:
                    self.now -= 1
        writer.close()

    async def handle(self, head: dict[str, str], data: bytes, writer: asyncio.StreamWriter) -> bool:
        """One request; False where the connection ends with it."""
        path = head["path"].removeprefix("/v1")
        if path == "/models":
            return await send(writer, 200, {"object": "list", "data": self.models})
        if path.startswith(("/files", "/batches")):
            return await send(writer, *self.batches.serve(head["method"], path, data))
        body = json.loads(data)
        self.received += 1
        fault = self.fault(self.received, body) if self.fault else None
        if fault is None and self.rate and not self.take_token():
            fault = "busy"
        if fault == "silent":
            await self.stop.wait()
            return False
        async with self.gate:
            if self.seconds:
                await asyncio.sleep(self.seconds)
            return await self.respond(writer, body, fault, head)

    def take_token(self) -> bool:
        """Whether the server's own rate allows one more now: a bucket that holds a second's worth."""
        now, rate = time.monotonic(), self.rate or 0.0
        self.tokens = min(rate, self.tokens + (now - self.filled) * rate)
        self.filled = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True

    async def respond(self, writer: asyncio.StreamWriter, body: Body, fault: str | None, head: dict[str, str]) -> bool:
        text = fault.removeprefix("text:") if fault and fault.startswith("text:") else None
        if fault is None or text is not None:
            self.log.append((200, self.keep(body, head)))
            return await send(writer, 200, complete(body, self.reply(body) if text is None else text))
        statuses = {"busy": 429, "server": 500, "closed": 401}
        self.log.append((statuses.get(fault, 0), self.keep(body, head)))
        if fault in statuses:
            document = {"error": {"message": f"fault of the fake: {fault} {head.get('authorization', '')}"}}
            return await send(
                writer, statuses[fault], document, {"retry-after": self.wait} if fault == "busy" else None
            )
        whole = json.dumps(complete(body, self.reply(body))).encode()
        if fault == "cut":
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(whole) + whole[: len(whole) // 2])
            await writer.drain()
            return False
        replies: dict[str, Body | bytes] = {
            "truncated": whole[: len(whole) // 2],
            "shape": {"result": ["of another kind"], "usage": {"prompt_tokens": 7, "completion_tokens": 3}},
            "huge": json.dumps(complete(body, "so " * (HUGE // 3))).encode(),
            "empty": complete(body, ""),
        }
        return await send(writer, 200, replies[fault])

    def answer_line(self, body: Body) -> tuple[int, Body | bytes]:
        """A line of a batch; any fault is a 500."""
        self.received += 1
        failed = self.fault(self.received, body) if self.fault else None
        self.log.append((500 if failed else 200, self.keep(body, {"x-call": ""})))
        document = (
            {"error": {"message": f"fault of the fake: {failed}"}} if failed else complete(body, self.reply(body))
        )
        return 500 if failed else 200, document


async def read_head(reader: asyncio.StreamReader) -> dict[str, str]:
    """Method, path and headers of a request; empty at the end."""
    try:
        lines = (await reader.readuntil(CRLF * 2)).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:
        return {}
    method, path, _ = lines[0].split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}
    return headers | {"method": method, "path": path}


async def send(
    writer: asyncio.StreamWriter, status: int, reply: Body | bytes, headers: dict[str, str] | None = None
) -> bool:
    data = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
    more = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    writer.write(f"HTTP/1.1 {status} Fake\r\ncontent-length: {len(data)}\r\n{more}\r\n".encode() + data)
    await writer.drain()
    return True


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """The server, answering as long as this lasts."""
    ready = threading.Event()
    loop = asyncio.new_event_loop()

    def work() -> None:
        try:
            loop.run_until_complete(server.serve(ready.set))
        finally:
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.run_until_complete(asyncio.sleep(0))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(server.stop.set)
        thread.join(10)
