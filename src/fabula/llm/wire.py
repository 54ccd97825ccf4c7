"""The one way in which bytes come from an endpoint: bounded in size, time and shape, and without the key.

    exchange    one request and its reply: so many bytes after decoding, so many seconds for all of it
    Secret      the key, and how it is taken out of what comes back
    read_json   the bytes of a reply as a document whose texts do not hold the key

Nobody else reads from a connection. One layer of gzip is decoded, under the same bound; any other encoding is refused,
and so are two layers: ten kilobytes that decode to gigabytes end at the bound.
"""

from __future__ import annotations

import asyncio
import json
import time
import zlib
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from itertools import chain
from typing import Any, Protocol

from fabula.core.printable import one_line
from fabula.llm.answer import ReplyError

LONGEST = 4 << 20  # bytes of a reply
MOST_PARTS = 400_000  # commas and brackets of a reply: each may become an object of some hundred bytes
DEEPEST = 64  # lists and objects within each other
QUICK = 1 << 20  # bytes a second: a large request or reply gets the time that they take at this rate besides
SHORTEST = 8  # characters of a key that is one; EMPTY and the like are no secret, and are words of answers
TOLD = 300  # characters of what an endpoint says of a failure


class Trouble(Exception):  # noqa: N818  (never leaves this package)
    """One request that got no answer."""

    def __init__(self, kind: str, message: str, status: int | None = None, wait: float | None = None) -> None:
        self.kind, self.message, self.status, self.wait = kind, message, status, wait
        self.usage: tuple[int | None, int | None] = (None, None)
        self.again, self.closed, self.schema = True, False, False
        super().__init__(message)


# ── the key ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Secret:
    """The key of an endpoint, which is in no file, message or answer."""

    def __init__(self, key: str) -> None:
        self.key = key if len(key) >= SHORTEST else ""

    def remove(self, text: str) -> str:
        return text.replace(self.key, "[key]") if self.key else text

    def clean(self, message: str) -> str:
        """Fit for a log: one printable line without the key."""
        return self.remove(one_line(self.remove(message), TOLD))

    def clean_document(self, document: Any) -> Any:
        """The document with the key out of every text, in place; ReplyError where it is nested too deeply."""
        root = [document]
        open_parts: list[tuple[Any, int]] = [(root, 0)]
        while open_parts:
            part, depth = open_parts.pop()
            if depth > DEEPEST:
                raise ReplyError(f"the reply is nested more than {DEEPEST} deep")
            if self.key and isinstance(part, dict) and any(self.key in name for name in part):
                cleaned = {self.remove(name): value for name, value in part.items()}
                part.clear()
                part.update(cleaned)
            for place, value in part.items() if isinstance(part, dict) else enumerate(part):
                if isinstance(value, dict | list):
                    open_parts.append((value, depth + 1))
                elif self.key and isinstance(value, str) and self.key in value:
                    part[place] = self.remove(value)
        return root[0]


def read_json(body: bytes, secret: Secret) -> Any:
    """What a reply holds; ReplyError where it is no JSON, or more than a reply can mean."""
    if sum(map(body.count, (b",", b"[", b"{"))) > MOST_PARTS:
        raise ReplyError(f"the reply has more than {MOST_PARTS:,} parts", "length")
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ReplyError(f"the reply is not JSON ({str(error)[:80]})") from None
    return secret.clean_document(document)


def describe_error(body: bytes, secret: Secret) -> str:
    """What a reply says of its failure, without the key."""
    try:
        return describe_document(read_json(body, secret))
    except ReplyError:
        return secret.remove(body.decode("utf-8", "replace"))[: 1 << 16]


def describe_document(document: Any) -> str:
    told = document.get("error", document.get("message", document)) if isinstance(document, dict) else document
    if isinstance(told, dict):
        told = " ".join(str(told[k]) for k in ("message", "code", "type") if told.get(k))
    return str(told)[: 1 << 16]


# ── one request ────────────────────────────────────────────────────────────────────────────────────────────────────


class Streamed(Protocol):
    """A reply whose head has come."""

    @property
    def status_code(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def aiter_raw(self) -> AsyncGenerator[bytes, None]: ...


class Lane(Protocol):
    """A connection: an httpx.AsyncClient, or the endpoint that ships."""

    def stream(
        self, method: str, path: str, *, content: bytes, headers: Mapping[str, str]
    ) -> AbstractAsyncContextManager[Streamed]: ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent, and how much may come back."""

    method: str
    path: str
    content: bytes = b""
    headers: Mapping[str, str] | None = None
    limit: int = LONGEST  # bytes of the reply
    take: Callable[[bytes], None] | None = None  # who takes the pieces of a good reply; None: they are its body


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. Its texts may hold the key: read them with read_json or describe_error."""

    status: int
    body: bytes
    wait: float | None  # seconds after which the endpoint wants to be asked again


async def exchange(lane: Lane, request: Request, seconds: float, errors: tuple[type[Exception], ...]) -> Reply:
    """A whole reply, or Trouble. `errors` are those of the lane."""
    loop = asyncio.get_running_loop()
    limit = loop.time() + seconds + len(request.content) / QUICK
    expected: tuple[type[Exception], ...] = (*errors, OSError, ValueError)
    sent, come, held = 0, 0, bytearray()
    try:
        async with (
            asyncio.timeout_at(limit) as clock,
            lane.stream(request.method, request.path, content=request.content, headers=request.headers or {}) as reply,
            aclosing(reply.aiter_raw()) as pieces,
        ):
            status, headers = reply.status_code, reply.headers
            decode = choose_decoder(headers.get("content-encoding"))
            wanted = request.take if request.take is not None and status == 200 else held.extend
            async for piece in pieces:
                sent += len(piece)
                for part in chain((b"",), decode(piece)):  # one at a time
                    come += len(part)
                    if max(sent, come) > request.limit:
                        trouble = Trouble("length", f"a reply of more than {request.limit / (1 << 20):.3g} MB", status)
                        trouble.again = False
                        raise trouble
                    wanted(part)
                if request.take is not None:
                    clock.reschedule(limit + come / QUICK)
    except TimeoutError:
        raise Trouble("timeout", f"no whole reply within {seconds:g} s") from None
    except zlib.error as error:
        raise Trouble("reply", f"the reply is no gzip ({error})") from None
    except expected as error:
        if "Timeout" in type(error).__name__:
            raise Trouble("timeout", f"no whole reply within {seconds:g} s") from None
        raise Trouble("connection", str(error) or type(error).__name__) from None
    return Reply(status, bytes(held), read_wait(headers.get("retry-after-ms"), headers.get("retry-after")))


STEP = 1 << 16  # bytes that are decoded at once


def choose_decoder(encoding: str | None) -> Callable[[bytes], Any]:
    """Pieces as they come → pieces as they are meant, none of them large."""
    named = (encoding or "identity").strip().lower()
    if named == "identity":
        return lambda piece: (piece,)
    if named not in ("gzip", "x-gzip"):
        trouble = Trouble("reply", f"the reply is encoded as {encoding!r}, though identity was asked for")
        trouble.again = False
        raise trouble
    inner = zlib.decompressobj(wbits=31)

    def decode(piece: bytes) -> Any:
        while not inner.eof:  # what follows the end is no part of the reply
            part = inner.decompress(piece, STEP)
            yield part
            piece = inner.unconsumed_tail
            if not piece and len(part) < STEP:
                return

    return decode


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
