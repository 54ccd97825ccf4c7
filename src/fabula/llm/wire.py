"""Reads replies from an endpoint, with limits on size, time and shape, and removes the key from them.

    exchange    sends one request and reads its reply, with limits on decoded bytes and on seconds
    Secret      the key, and how it is removed from a reply
    read_json   parses a reply into a document whose texts do not hold the key

No other module reads from a connection. One layer of gzip is decoded under the same limit. Other encodings and two
layers are refused, so ten kilobytes that decode to gigabytes stop at the limit.
"""

from __future__ import annotations

import asyncio
import json
import time
import zlib
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
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
MESSAGE = 300  # characters of an endpoint's error message


class RequestFailed(Exception):  # noqa: N818  (never leaves this package)
    """One request that got no answer. Sending it again may help, unless it is one of the subclasses."""

    def __init__(
        self,
        kind: str,
        message: str,
        status: int | None = None,
        wait: float | None = None,
        usage: tuple[int | None, int | None] = (None, None),
    ) -> None:
        self.kind, self.message, self.status, self.wait, self.usage = kind, message, status, wait, usage
        super().__init__(message)


class RequestRefused(RequestFailed):
    """The endpoint refuses this request, or its reply exceeds a limit: sending it again gives the same."""


class SchemaRefused(RequestRefused):
    """The endpoint refuses the JSON schema: the same request without it may succeed."""


class EndpointClosed(RequestFailed):
    """The endpoint refuses every request: wrong key, wrong address, no money left."""


def as_failure(error: RequestFailed | ReplyError) -> RequestFailed:
    """A reply that is no answer, as a failed request; one that is too long stays too long."""
    if isinstance(error, RequestFailed):
        return error
    kind = RequestRefused if error.kind == "length" else RequestFailed
    return kind(error.kind, str(error), usage=error.usage)


# ── the key ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Secret:
    """The key of an endpoint. It never appears in a file, a message or an answer."""

    def __init__(self, key: str) -> None:
        self.key = key if len(key) >= SHORTEST else ""

    def remove(self, text: str) -> str:
        return text.replace(self.key, "[key]") if self.key else text

    def clean(self, message: str) -> str:
        """The message as one printable line without the key, for a log."""
        return self.remove(one_line(self.remove(message), MESSAGE))

    def clean_document(self, document: object) -> object:
        """Remove the key from every text of the document, in place. ReplyError: it is nested too deeply."""
        root: list[Any] = [document]
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


def read_json(body: bytes, secret: Secret) -> object:
    """Parse the body of a reply. ReplyError: it is not JSON, or has too many parts."""
    if sum(map(body.count, (b",", b"[", b"{"))) > MOST_PARTS:
        raise ReplyError(f"the reply has more than {MOST_PARTS:,} parts", "length")
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ReplyError(f"the reply is not JSON ({str(error)[:80]})") from None
    return secret.clean_document(document)


def describe_error(body: bytes, secret: Secret) -> str:
    """The error message in a reply, without the key."""
    try:
        return describe_document(read_json(body, secret))
    except ReplyError:
        return secret.remove(body.decode("utf-8", "replace"))[: 1 << 16]


def describe_document(document: object) -> str:
    error_field = document.get("error", document.get("message", document)) if isinstance(document, dict) else document
    if isinstance(error_field, dict):
        error_field = " ".join(str(error_field[k]) for k in ("message", "code", "type") if error_field.get(k))
    return str(error_field)[: 1 << 16]


# ── one request ────────────────────────────────────────────────────────────────────────────────────────────────────


class Streamed(Protocol):
    """A reply whose head has come."""

    @property
    def status_code(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def aiter_raw(self) -> AsyncGenerator[bytes, None]: ...


class Connection(Protocol):
    """A connection: an httpx.AsyncClient, or the endpoint that ships."""

    def stream(
        self, method: str, path: str, *, content: bytes, headers: Mapping[str, str]
    ) -> AbstractAsyncContextManager[Streamed]: ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent, and how many bytes the reply may have."""

    method: str
    path: str
    content: bytes = b""
    headers: Mapping[str, str] | None = None
    limit: int = LONGEST  # bytes of the reply
    take: Callable[[bytes], None] | None = None  # receives the pieces of a good reply; None: they form its body


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply as it arrived. Its texts may hold the key: read them with read_json or describe_error."""

    status: int
    body: bytes
    wait: float | None  # seconds after which the endpoint wants to be asked again


async def exchange(
    connection: Connection, request: Request, seconds: float, errors: tuple[type[Exception], ...]
) -> Reply:
    """A whole reply, or RequestFailed. `errors`: the exceptions of the connection."""
    loop = asyncio.get_running_loop()
    limit = loop.time() + seconds + len(request.content) / QUICK
    expected: tuple[type[Exception], ...] = (*errors, OSError, ValueError)
    sent, come, body, headers = 0, 0, bytearray(), request.headers or {}
    try:
        async with (
            asyncio.timeout_at(limit) as clock,
            connection.stream(request.method, request.path, content=request.content, headers=headers) as reply,
            aclosing(reply.aiter_raw()) as pieces,
        ):
            status, received = reply.status_code, reply.headers
            decode = choose_decoder(received.get("content-encoding"))
            wanted = request.take if request.take is not None and status == 200 else body.extend
            async for piece in pieces:
                sent += len(piece)
                for part in chain((b"",), decode(piece)):  # one at a time
                    come += len(part)
                    if max(sent, come) > request.limit:
                        size = f"{request.limit / (1 << 20):.3g} MB"
                        raise RequestRefused("length", f"a reply of more than {size}", status)
                    wanted(part)
                if request.take is not None:
                    clock.reschedule(limit + come / QUICK)
    except TimeoutError:
        raise RequestFailed("timeout", f"no whole reply within {seconds:g} s") from None
    except zlib.error as error:
        raise RequestFailed("reply", f"the reply is no gzip ({error})") from None
    except expected as error:
        if "Timeout" in type(error).__name__:
            raise RequestFailed("timeout", f"no whole reply within {seconds:g} s") from None
        raise RequestFailed("connection", str(error) or type(error).__name__) from None
    return Reply(status, bytes(body), read_wait(received.get("retry-after-ms"), received.get("retry-after")))


STEP = 1 << 16  # bytes that are decoded at once


def choose_decoder(encoding: str | None) -> Callable[[bytes], Iterable[bytes]]:
    """A function that decodes a piece of the reply into small pieces."""
    named = (encoding or "identity").strip().lower()
    if named == "identity":
        return lambda piece: (piece,)
    if named not in ("gzip", "x-gzip"):
        raise RequestRefused("reply", f"the reply is encoded as {encoding!r}; the request asks for identity")
    inner = zlib.decompressobj(wbits=31)

    def decode(piece: bytes) -> Iterator[bytes]:
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
