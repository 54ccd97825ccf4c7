"""Sends calls to an OpenAI-compatible endpoint, and keeps at it.

    asked too fast (429), faults of the server (5xx), timeouts, cut connections, replies that are no answers
        → again, after Retry-After or after 0.5 · 2ⁿ s (half of it by chance), up to `retries` times
    a request that the endpoint refuses (400, 413, 422)     → that call fails
    a key, an address or an account that it refuses         → EndpointError: no call can succeed

Requests that are under way at once go over as many small pools of one connection: httpcore's pool looks at all of its
connections at every request, which takes 9 ms of one where there are a hundred.

Redirects are not followed: the key goes to the address that was named, and nowhere else. Whatever comes back comes
through wire.py, bounded in bytes and seconds, and has the key taken out of it before anybody sees it.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol
from urllib.parse import urlsplit

from fabula.core.errors import MissingExtra
from fabula.llm.answer import Answer, Attempt, CallError, EndpointError, ReplyError, read_document
from fabula.llm.call import Call
from fabula.llm.limits import Limits
from fabula.llm.options import UNNAMED, EndpointOptions
from fabula.llm.wire import Lane, Reply, Request, Secret, Trouble, describe_error, exchange, read_json

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


def forget(attempt: Attempt) -> None:
    """For those who do not log failures."""


class Client:
    """`async with Client(options) as client: answer = await client.ask(call)`."""

    def __init__(
        self, options: EndpointOptions, note: Note = forget, make_lane: Callable[[], Lane] | None = None
    ) -> None:
        """`make_lane`: opens a connection of another kind than HTTP, for the endpoint that ships."""
        self.options, self.note, self.make_lane = options, note, make_lane
        self.limits = Limits(options.concurrency, options.rpm, options.tpm)
        self.secret = Secret(options.read_key())
        self.has_key = bool(options.read_key())
        self.with_schema = options.schema != "never"
        self.listing: asyncio.Task[list[dict[str, Any]] | None] | None = None  # of the endpoint's models
        self.errors: tuple[type[Exception], ...] = ()
        self.lanes: list[Lane] = []
        self.free: list[Lane] = []  # the last used first: its connection is open

    async def __aenter__(self) -> Client:
        if self.make_lane is None:
            self.make_lane = self.prepare_http()
        return self

    def prepare_http(self) -> Callable[[], Lane]:
        """Opens connections, each with a pool of its own."""
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
        for lane in self.lanes:
            await lane.aclose()

    async def fetch(self, request: Request, seconds: float | None = None) -> Reply:
        """The reply to any request, by a connection that is free; Trouble where there is no whole one."""
        assert self.make_lane is not None, "a client is entered before it is asked"
        if self.free:
            lane = self.free.pop()
        else:
            lane = self.make_lane()
            self.lanes.append(lane)
        try:
            return await exchange(lane, request, self.options.timeout if seconds is None else seconds, self.errors)
        except Trouble as trouble:
            if trouble.kind == "connection":
                trouble.message = f"no connection to {self.options.url} ({trouble.message}); is a server running there?"
            raise
        finally:
            self.free.append(lane)

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
                # the call's key goes along, for whoever reads the endpoint's log beside ours
                reply = await self.fetch(Request("POST", "/chat/completions", body, {"x-call": call.key}))
                if reply.status != 200:
                    raise self.explain(reply)
                answer = self.read_answer(read_json(reply.body, self.secret), time.perf_counter() - began)
            except (Trouble, ReplyError) as error:
                trouble = error if isinstance(error, Trouble) else Trouble(error.kind, str(error))
                if isinstance(error, ReplyError):
                    trouble.usage, trouble.again = error.usage, error.kind != "length"
                seconds = time.perf_counter() - began
                told = self.clean(trouble.message)
                self.note(Attempt(call.key, trouble.kind, told, trouble.status, seconds, *trouble.usage))
                raise trouble from None
        if answer.tokens_in is not None and answer.tokens_out is not None:
            self.limits.tokens.give_back(reserved - answer.tokens_in - answer.tokens_out)
        return answer

    def read_answer(self, document: Any, seconds: float) -> Answer:
        """Of a document without the key; once more, for parts of a text are put together."""
        answer = read_document(document, seconds)
        return replace(answer, text=self.secret.remove(answer.text))

    def explain(self, reply: Reply) -> Trouble:
        """A reply that is none, as trouble."""
        status, said = reply.status, describe_error(reply.body, self.secret)
        trouble = Trouble("server", f"{status}: {said}" if said else str(status), status, reply.wait)
        if status in CLOSED or (status == 429 and any(word in said for word in BROKE)):
            trouble.kind, trouble.closed = "forbidden", True
            trouble.message = "; ".join([self.clean(trouble.message), *self.find_cause(status)])
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

    def find_cause(self, status: int) -> list[str]:
        """What is most likely wrong where an endpoint takes no call."""
        if status in (401, 403):
            fix = "is its key right?" if self.has_key else "no key was sent: set it"
            return [f"{fix} (environment variable {self.options.key_env})"]
        if status not in (404, 405):
            return []
        causes = [] if self.options.model != UNNAMED else ["the model was not named: say --model"]
        return causes + ([] if "v1" in urlsplit(self.options.url).path else ["does the address end in /v1?"])

    # what the endpoint says of its models

    async def list_models(self) -> list[dict[str, Any]] | None:
        """The entries of GET /models; None where there is no such list. Asked for once."""
        if self.options.is_fake:
            return None
        if self.listing is None:
            self.listing = asyncio.create_task(self.fetch_models())
        return await asyncio.shield(self.listing)

    async def fetch_models(self) -> list[dict[str, Any]] | None:
        try:
            reply = await self.fetch(Request("GET", "/models"), min(CONNECT, self.options.timeout))
            document = read_json(reply.body, self.secret) if reply.status == 200 else None
        except (Trouble, ReplyError):
            return None
        listed = document.get("data") if isinstance(document, dict) else None
        return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else None

    async def check_context(self, call: Call) -> None:
        """CallError where prompt and answer cannot fit; nothing is sent then."""
        context = self.options.context or await self.find_context(call.model)
        need = call.tokens + call.longest
        if context is not None and need > context:
            problem = f"about {need:,} tokens with the answer, more than the {context:,} that {call.model} takes"
            self.note(Attempt(call.key, "context", problem))
            raise CallError(problem, "context", 0)

    async def find_context(self, model: str) -> int | None:
        """How many tokens a model takes, as the endpoint lists it."""
        for entry in await self.list_models() or ():
            if entry.get("id") == model:
                meta = entry.get("meta")
                flat = {**(meta if isinstance(meta, dict) else {}), **entry}
                sizes = [flat.get(name) for name in LENGTHS]
                return next((n for n in sizes if isinstance(n, int) and not isinstance(n, bool) and n > 0), None)
        return None

    def clean(self, message: str) -> str:
        """Fit for a log: one printable line without the key."""
        return self.secret.clean(message)
