"""Sends calls to an OpenAI-compatible endpoint, and retries.

    too many requests (429), server errors (5xx), timeouts, broken connections, replies without an answer
        → RequestFailed: send again after Retry-After, or after 0.5 · 2ⁿ s (half of it random), up to `retries` times
    a request that the endpoint refuses (400, 413, 422)     → RequestRefused: that call fails
    a JSON schema that it refuses                           → SchemaRefused: send again without the schema
    a key, an address or an account that it refuses         → EndpointClosed: no call can succeed

Each concurrent request has its own pool of one connection: httpcore's pool scans all of its connections at every
request, which takes 9 ms with a hundred of them.

Redirects are not followed: the key goes only to the address that the user names. wire.py reads every reply with limits
on bytes and seconds, and removes the key from it.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from fabula.core.errors import MissingExtra
from fabula.llm.answer import Answer, Attempt, CallError, EndpointError, ReplyError, read_document
from fabula.llm.call import Body, Call
from fabula.llm.limits import Limits
from fabula.llm.options import UNNAMED, EndpointOptions
from fabula.llm.wire import (
    Connection,
    EndpointClosed,
    Reply,
    Request,
    RequestFailed,
    RequestRefused,
    SchemaRefused,
    Secret,
    as_failure,
    describe_error,
    exchange,
    read_json,
)

FIRST, SLOWEST = 0.5, 60.0  # seconds between tries
PATIENCE = 900.0  # seconds that an endpoint may ask us to wait
CONNECT = 15.0  # seconds
AGAIN = {408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529}
CLOSED = {401, 402, 403, 404, 405, 407}
BROKE = ("insufficient_quota", "billing")  # a 429 that no waiting mends
LENGTHS = ("max_model_len", "context_length", "context_window", "n_ctx", "n_ctx_train")

Note = Callable[[Attempt], None]
T = TypeVar("T")


class Client(Protocol):
    """Anything that answers calls: an HTTP client, a recorder around one, a replay, a batch client."""

    async def ask(self, call: Call) -> Answer:
        """The answer, or CallError."""


def ignore(attempt: Attempt) -> None:
    """The default: failed attempts are not logged."""


class HttpClient:
    """`async with HttpClient(options) as client: answer = await client.ask(call)`."""

    def __init__(
        self, options: EndpointOptions, note: Note = ignore, open_connection: Callable[[], Connection] | None = None
    ) -> None:
        """`open_connection`: opens another kind of connection than HTTP, for the built-in fake endpoint."""
        self.options, self.note, self.open_connection = options, note, open_connection
        self.limits = Limits(options.concurrency, options.rpm, options.tpm)
        self.secret = Secret(options.read_key())
        self.has_key = bool(options.read_key())
        self.with_schema = options.schema != "never"
        self.listing: asyncio.Task[list[Body] | None] | None = None  # of the endpoint's models
        self.errors: tuple[type[Exception], ...] = ()
        self.connections: list[Connection] = []
        self.free: list[Connection] = []  # the last one was used last: it is still open

    async def __aenter__(self) -> HttpClient:
        if self.open_connection is None:
            self.open_connection = self.prepare_http()
        return self

    def prepare_http(self) -> Callable[[], Connection]:
        """A function that opens connections, each with its own pool."""
        try:
            import httpx
        except ImportError:
            raise MissingExtra("asking a model", "llm") from None
        self.errors = (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL)
        tls = httpx.create_ssl_context() if self.options.url.startswith("https") else False  # once for all
        headers = {"accept-encoding": "identity", "content-type": "application/json"}
        if self.has_key:
            headers["authorization"] = f"Bearer {self.options.read_key()}"
        settings: dict[str, Any] = {
            "base_url": self.options.url.rstrip("/"),
            "headers": headers,
            "timeout": httpx.Timeout(self.options.timeout, connect=min(CONNECT, self.options.timeout), pool=None),
            "limits": httpx.Limits(max_connections=1, max_keepalive_connections=1),
            "trust_env": not self.options.is_local,  # proxies
            "verify": tls,
        }
        return lambda: httpx.AsyncClient(**settings)  # type: ignore[return-value]

    async def __aexit__(self, *error: object) -> None:
        if self.listing is not None:
            self.listing.cancel()
        for connection in self.connections:
            await connection.aclose()

    async def fetch(self, request: Request, seconds: float | None = None) -> Reply:
        """The reply to any request, over a free connection. RequestFailed: no complete reply arrives."""
        assert self.open_connection is not None, "enter the client before asking it"
        if self.free:
            connection = self.free.pop()
        else:
            connection = self.open_connection()
            self.connections.append(connection)
        try:
            return await exchange(
                connection, request, self.options.timeout if seconds is None else seconds, self.errors
            )
        except RequestFailed as failure:
            if failure.kind == "connection":
                failure.message = f"no connection to {self.options.url} ({failure.message}); is a server running there?"
            raise
        finally:
            self.free.append(connection)

    async def fetch_good(self, request: Request) -> Reply:
        """A reply of status 200, or RequestFailed."""
        reply = await self.fetch(request)
        if reply.status != 200:
            raise self.explain(reply)
        return reply

    async def ask(self, call: Call) -> Answer:
        """The answer. CallError: all attempts failed."""
        await self.check_context(call)
        return await self.persist(lambda: self.send(call))

    async def persist(self, send: Callable[[], Awaitable[T]]) -> T:
        """What `send` returns, tried again after failures that may pass. CallError: all attempts failed."""
        tries = 0
        while True:
            tries += 1
            try:
                return await send()
            except SchemaRefused:  # ask without a schema, at once
                self.with_schema = False
                tries -= 1
            except RequestFailed as failure:
                message = self.clean(failure.message)
                if isinstance(failure, EndpointClosed):
                    raise EndpointError(f"{self.options.url}: {message}", failure.kind, tries) from None
                if isinstance(failure, RequestRefused) or tries > self.options.retries:
                    raise CallError(message, failure.kind, tries) from None
                if failure.wait is not None:
                    self.limits.hold(failure.wait)
                    await asyncio.sleep(failure.wait)
                else:
                    pause = min(SLOWEST, FIRST * 2 ** (tries - 1))
                    await asyncio.sleep(pause * (0.5 + random.random() / 2))

    async def send(self, call: Call) -> Answer:
        """Send the call once."""
        body = json.dumps(call.body(self.with_schema), ensure_ascii=True).encode()
        reserved = call.tokens + call.longest
        async with self.limits.slot(reserved):
            began = time.perf_counter()
            try:
                # the call's key is sent along, so that the endpoint's log can be compared with ours
                reply = await self.fetch_good(Request("POST", "/chat/completions", body, {"x-call": call.key}))
                answer = self.read_answer(read_json(reply.body, self.secret), time.perf_counter() - began)
            except (RequestFailed, ReplyError) as error:
                failure = as_failure(error)
                seconds = time.perf_counter() - began
                message = self.clean(failure.message)
                self.note(Attempt(call.key, failure.kind, message, failure.status, seconds, *failure.usage))
                raise failure from None
        if answer.tokens_in is not None and answer.tokens_out is not None:
            self.limits.tokens.give_back(reserved - answer.tokens_in - answer.tokens_out)
        return answer

    def read_answer(self, document: object, seconds: float) -> Answer:
        """The answer in a document. The key is removed again: joining parts of a text may restore it."""
        answer = read_document(document, seconds)
        return replace(answer, text=self.secret.remove(answer.text))

    def explain(self, reply: Reply) -> RequestFailed:
        """The failure that a reply of another status than 200 stands for."""
        status, reason = reply.status, describe_error(reply.body, self.secret)
        message = f"{status}: {reason}" if reason else str(status)
        if status in CLOSED or (status == 429 and any(word in reason for word in BROKE)):
            message = "; ".join([self.clean(message), *self.find_cause(status)])
            return EndpointClosed("forbidden", message, status, reply.wait)
        if status in AGAIN:
            kind = "busy" if status in (429, 503, 529) else "server"
            if reply.wait is not None and reply.wait > PATIENCE:
                message = f"asks to wait for {reply.wait:,.0f} s ({reason})"
                return EndpointClosed(kind, message, status, reply.wait)
            return RequestFailed(kind, message, status, reply.wait)
        if 300 <= status < 400:
            message = f"{status}: it redirects us to an address where the key does not go"
            return EndpointClosed("server", message, status, reply.wait)
        if status >= 500:
            return RequestFailed("server", message, status, reply.wait)
        is_auto = self.with_schema and self.options.schema == "auto"
        if is_auto and any(word in reason for word in ("response_format", "json_schema", "schema")):
            return SchemaRefused("refused", message, status, reply.wait)
        return RequestRefused("refused", message, status, reply.wait)

    def find_cause(self, status: int) -> list[str]:
        """The most likely reasons why an endpoint refuses every call."""
        if status in (401, 403):
            fix = "is its key right?" if self.has_key else "no key was sent: set it"
            return [f"{fix} (environment variable {self.options.key_env})"]
        if status not in (404, 405):
            return []
        causes = [] if self.options.model != UNNAMED else ["no model is named: set --model"]
        return causes + ([] if "v1" in urlsplit(self.options.url).path else ["does the address end in /v1?"])

    # the endpoint's list of models

    async def list_models(self) -> list[Body] | None:
        """The entries of GET /models, fetched once; None: the endpoint has no such list."""
        if self.options.is_fake:
            return None
        if self.listing is None:
            self.listing = asyncio.create_task(self.fetch_models())
        return await asyncio.shield(self.listing)

    async def fetch_models(self) -> list[Body] | None:
        try:
            reply = await self.fetch(Request("GET", "/models"), min(CONNECT, self.options.timeout))
            document = read_json(reply.body, self.secret) if reply.status == 200 else None
        except (RequestFailed, ReplyError):
            return None
        listed = document.get("data") if isinstance(document, dict) else None
        return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else None

    async def check_context(self, call: Call) -> None:
        """CallError, before anything is sent: prompt and answer do not fit into the model's context."""
        context = self.options.context or await self.find_context(call.model)
        need = call.tokens + call.longest
        if context is not None and need > context:
            problem = f"about {need:,} tokens with the answer, more than the {context:,} that {call.model} takes"
            self.note(Attempt(call.key, "context", problem))
            raise CallError(problem, "context", 0)

    async def find_context(self, model: str) -> int | None:
        """The context length of a model in tokens, as the endpoint lists it."""
        for entry in await self.list_models() or ():
            if entry.get("id") == model:
                meta = entry.get("meta")
                flat = {**(meta if isinstance(meta, dict) else {}), **entry}
                sizes = [flat.get(name) for name in LENGTHS]
                return next((n for n in sizes if isinstance(n, int) and not isinstance(n, bool) and n > 0), None)
        return None

    def clean(self, message: str) -> str:
        """The message as one printable line without the key, for a log."""
        return self.secret.clean(message)
