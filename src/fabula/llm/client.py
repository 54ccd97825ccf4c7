"""Sends calls to an OpenAI-compatible endpoint, and keeps at it.

    asked too fast (429), faults of the server (5xx), timeouts, cut connections, replies that are no answers
        → again, after Retry-After or after 0.5 · 2ⁿ s (half of it by chance), up to `retries` times
    a request that the endpoint refuses (400, 413, 422)     → that call fails
    a key, an address or an account that it refuses         → EndpointError: no call can succeed

Requests that are under way at once go over as many small pools of one connection: httpcore's pool looks at all of its
connections at every request, which takes 9 ms of one where there are a hundred.

Redirects are not followed: the key goes to the address that was named, and nowhere else. Whatever comes back has the
key taken out of it before anybody sees it.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Protocol

from fabula.core.errors import MissingExtra
from fabula.core.printable import one_line
from fabula.llm.answer import Answer, Attempt, CallError, EndpointError, ReplyError, read_reply
from fabula.llm.call import Call
from fabula.llm.limits import Limits
from fabula.llm.options import EndpointOptions

if TYPE_CHECKING:
    import httpx

LONGEST = 4 << 20  # bytes of a reply
TOLD = 300  # characters of what an endpoint says of a failure
FIRST, SLOWEST = 0.5, 60.0  # seconds between tries
PATIENCE = 900.0  # seconds that an endpoint may ask us to wait
CONNECT = 15.0  # seconds
AGAIN = {408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529}
CLOSED = {401, 402, 403, 404, 405, 407}
BROKE = ("insufficient_quota", "billing")  # a 429 that no waiting mends
LENGTHS = ("max_model_len", "context_length", "context_window", "n_ctx", "n_ctx_train")

Note = Callable[[Attempt], None]


class Asker(Protocol):
    """Whatever answers calls."""

    async def ask(self, call: Call) -> Answer:
        """The answer, or CallError."""


class Trouble(Exception):  # noqa: N818  (never leaves this file)
    """One try that gave no answer."""

    def __init__(self, kind: str, message: str, status: int | None = None, wait: float | None = None) -> None:
        self.kind, self.message, self.status, self.wait = kind, message, status, wait
        self.usage: tuple[int | None, int | None] = (None, None)
        self.again, self.closed, self.schema = True, False, False


def forget(attempt: Attempt) -> None:
    """For those who do not log failures."""


class Client:
    """`async with Client(options) as client: answer = await client.ask(call)`."""

    def __init__(self, options: EndpointOptions, note: Note = forget, transport: Any = None) -> None:
        self.options, self.note, self.transport = options, note, transport
        self.limits = Limits(options.concurrency, options.rpm, options.tpm)
        self.key = options.read_key()
        self.with_schema = options.schema != "never"
        self.contexts: dict[str, asyncio.Task[int | None]] = {}
        self.http: httpx.AsyncClient | None = None  # for what is no call
        self.lanes: list[httpx.AsyncClient] = []
        self.free: list[httpx.AsyncClient] = []  # the last used first: its connection is open
        self.settings: dict[str, Any] = {}

    async def __aenter__(self) -> Client:
        try:
            import httpx
        except ImportError:
            raise MissingExtra("asking a model", "llm") from None
        local = self.options.is_local or self.options.is_fake
        tls = httpx.create_ssl_context() if self.options.url.startswith("https") else False  # once for all
        headers = {"accept-encoding": "identity", "content-type": "application/json"}
        if self.key:
            headers["authorization"] = f"Bearer {self.key}"
        self.settings = {
            "base_url": "http://fake/v1" if self.options.is_fake else self.options.url.rstrip("/"),
            "headers": headers,
            "timeout": httpx.Timeout(self.options.timeout, connect=min(CONNECT, self.options.timeout), pool=None),
            "limits": httpx.Limits(max_connections=1, max_keepalive_connections=1),
            "transport": self.transport,
            "trust_env": not local,  # proxies
            "verify": tls,
        }
        self.http = self.open_lane()
        return self

    def open_lane(self) -> httpx.AsyncClient:
        """One connection."""
        import httpx

        lane = httpx.AsyncClient(**self.settings)
        self.lanes.append(lane)
        return lane

    async def __aexit__(self, *error: object) -> None:
        for task in self.contexts.values():
            task.cancel()
        for lane in self.lanes:
            await lane.aclose()

    async def ask(self, call: Call) -> Answer:
        """The answer; CallError when all tries have failed."""
        await self.check_context(call)
        tries = 0
        while True:
            tries += 1
            try:
                return await self.send(call)
            except Trouble as trouble:
                message = self.clean(trouble.message)
                if trouble.closed:
                    raise EndpointError(f"{self.options.url}: {message}", trouble.kind, tries) from None
                if trouble.schema:  # without it, at once
                    self.with_schema = False
                    tries -= 1
                    continue
                if not trouble.again or tries > self.options.retries:
                    raise CallError(message, trouble.kind, tries) from None
                if trouble.wait is not None:
                    self.limits.hold(trouble.wait)
                    await asyncio.sleep(trouble.wait)
                else:
                    pause = min(SLOWEST, FIRST * 2 ** (tries - 1))
                    await asyncio.sleep(pause * (0.5 + random.random() / 2))

    async def send(self, call: Call) -> Answer:
        """One try."""
        body = json.dumps(call.body(self.with_schema), ensure_ascii=True).encode()
        reserved = call.tokens + call.longest
        async with self.limits.slot(reserved):
            began = time.perf_counter()
            try:
                answer = read_reply(await self.post(body, call.key), time.perf_counter() - began)
            except (Trouble, ReplyError) as error:
                trouble = error if isinstance(error, Trouble) else Trouble(error.kind, str(error))
                if isinstance(error, ReplyError):
                    trouble.usage = error.usage
                seconds = time.perf_counter() - began
                told = self.clean(trouble.message)
                self.note(Attempt(call.key, trouble.kind, told, trouble.status, seconds, *trouble.usage))
                raise trouble from None
        if answer.tokens_in is not None and answer.tokens_out is not None:
            self.limits.tokens.give_back(reserved - answer.tokens_in - answer.tokens_out)
        return replace(answer, text=self.without_key(answer.text))

    async def post(self, body: bytes, key: str) -> bytes:
        """The body of a good reply. The call's key goes along, for whoever reads the endpoint's log beside ours."""
        import httpx

        assert self.http is not None, "a client is entered before it is asked"
        held = bytearray()
        lane = self.free.pop() if self.free else self.open_lane()
        try:
            async with (
                asyncio.timeout(self.options.timeout),
                lane.stream("POST", "/chat/completions", content=body, headers={"x-call": key}) as reply,
            ):
                async for piece in reply.aiter_bytes():
                    held += piece
                    if len(held) > LONGEST:
                        trouble = Trouble("length", f"a reply of more than {LONGEST >> 20} MB", reply.status_code)
                        trouble.again = False
                        raise trouble
                status, headers = reply.status_code, reply.headers
        except (httpx.TimeoutException, TimeoutError):
            raise Trouble("timeout", f"no whole reply within {self.options.timeout:g} s") from None
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL) as error:
            raise Trouble("connection", str(error) or type(error).__name__) from None
        finally:
            self.free.append(lane)
        if status == 200:
            return bytes(held)
        raise self.explain(status, headers.get("retry-after-ms"), headers.get("retry-after"), bytes(held))

    def explain(self, status: int, ms: str | None, after: str | None, body: bytes) -> Trouble:
        """A reply that is none, as trouble."""
        said = read_error(body)
        trouble = Trouble("server", f"{status}: {said}" if said else str(status), status, read_wait(ms, after))
        if status in CLOSED or (status == 429 and any(word in said for word in BROKE)):
            trouble.kind, trouble.closed = "forbidden", True
        elif status in AGAIN:
            trouble.kind = "busy" if status in (429, 503, 529) else "server"
            if trouble.wait is not None and trouble.wait > PATIENCE:
                trouble.message, trouble.closed = f"asks to wait for {trouble.wait:,.0f} s ({said})", True
        elif 300 <= status < 400:
            trouble.message, trouble.closed = f"{status}: it sends us elsewhere, where the key does not go", True
        elif status < 500:
            trouble.kind, trouble.again = "refused", False
            asked = self.with_schema and self.options.schema == "auto"
            trouble.schema = asked and any(word in said for word in ("response_format", "json_schema", "schema"))
        return trouble

    # how long a prompt may be

    async def check_context(self, call: Call) -> None:
        """CallError where prompt and answer cannot fit; nothing is sent then."""
        if call.model not in self.contexts:
            self.contexts[call.model] = asyncio.create_task(self.find_context(call.model))
        context = await self.contexts[call.model]
        need = call.tokens + call.longest
        if context is not None and need > context:
            problem = f"about {need:,} tokens with the answer, more than the {context:,} that {call.model} takes"
            self.note(Attempt(call.key, "context", problem))
            raise CallError(problem, "context", 0)

    async def find_context(self, model: str) -> int | None:
        """As it was said, or as the endpoint lists it."""
        if self.options.context is not None or self.options.is_fake:
            return self.options.context
        import httpx

        assert self.http is not None
        try:
            reply = await self.http.get("/models", timeout=CONNECT)
            listed = reply.json()["data"] if len(reply.content) < LONGEST else []
            found = next(entry for entry in listed if entry.get("id") == model)
        except (httpx.HTTPError, ValueError, KeyError, TypeError, AttributeError, StopIteration, RecursionError):
            return None
        flat = {**(found.get("meta") or {}), **found}
        sizes = [flat[name] for name in LENGTHS if isinstance(flat.get(name), int) and flat[name] > 0]
        return sizes[0] if sizes else None

    # the key stays here

    def without_key(self, text: str) -> str:
        return text.replace(self.key, "[key]") if self.key else text

    def clean(self, message: str) -> str:
        """Fit for a log: one printable line without the key."""
        return one_line(self.without_key(message), TOLD)


def read_wait(ms: str | None, after: str | None) -> float | None:
    """Seconds until the endpoint wants to be asked again."""
    for text, unit in ((ms, 1e-3), (after, 1.0)):
        try:
            seconds = float(text) * unit if text else -1.0
        except ValueError:
            try:
                seconds = parsedate_to_datetime(text or "").timestamp() - time.time()
                seconds = max(0.0, seconds)
            except (ValueError, TypeError, OverflowError):
                continue
        if 0 <= seconds < 1e9:
            return seconds
    return None


def read_error(body: bytes) -> str:
    """What a reply says of its failure."""
    text = body[: 1 << 16].decode("utf-8", "replace")
    try:
        document = json.loads(text)
        told = document.get("error", document.get("message", document)) if isinstance(document, dict) else document
        if isinstance(told, dict):
            told = " ".join(str(told[k]) for k in ("message", "code", "type") if told.get(k))
        return str(told)
    except (ValueError, RecursionError):
        return text
