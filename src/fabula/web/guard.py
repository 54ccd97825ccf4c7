"""Checks every request before it is handled, and adds security headers to every response.

framing         Content-Length or Transfer-Encoding, not both: two readers would see two requests (RFC 9112 §6.1)
Host            must be a name of ours: no other site can point its own name here and read (DNS rebinding)
Origin          of whatever changes something: the browser sends our own page's: no page of another site forges it
Sec-Fetch-Site  where a browser sends it: another site may link to our doors, and ask for nothing else
Content-Type    of what is sent: JSON, which a form of another site cannot send
size            of what is sent: small
Content-Security-Policy and its like: nothing from elsewhere, no frames, no scripts but ours
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from fabula.web.binding import LOOPBACK, Binding

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST = 1 << 16  # bytes of a request's body
READS = ("GET", "HEAD")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; media-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)
STRICT = (b"strict-transport-security", b"max-age=31536000")


class Guard:
    """An ASGI application around another."""

    def __init__(self, app: App, binding: Binding, doors: tuple[str, ...] = ("/",)) -> None:
        """`doors`: the addresses that other sites may link to."""
        self.app, self.binding, self.doors = app, binding, doors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        fault = self.judge(scope)
        if fault:
            await refuse(self.add_headers(send), *fault)
            return
        if scope["method"] not in READS:
            body = await read_all(receive)
            if body is None:
                await refuse(self.add_headers(send), 413, f"more than {LARGEST:,} bytes")
                return
            receive = again(body, receive)
        await self.app(scope, receive, self.add_headers(send))

    def judge(self, scope: Scope) -> tuple[int, str] | None:
        """The reason to refuse a request; None if it is accepted."""
        if values(scope, b"content-length") and values(scope, b"transfer-encoding"):
            return 400, "Content-Length and Transfer-Encoding exclude each other"
        hosts, origins = (values(scope, name) for name in (b"host", b"origin"))
        if len(hosts) != 1 or not self.binding.allows_host(hosts[0]):
            return 421, "this server is not known by that name"
        method = scope["method"]
        if method not in (*READS, "POST"):
            return 405, f"{method[:10]} is not answered here"
        sites = values(scope, b"sec-fetch-site")
        if method in READS:
            foreign = any(site in ("cross-site", "same-site") for site in sites)
            return (403, "asked from another site") if foreign and scope["path"] not in self.doors else None
        if len(origins) != 1 or not self.binding.allows_origin(origins[0], hosts[0]):
            return 403, "sent from another site"
        if any(site not in ("same-origin", "none") for site in sites):
            return 403, "sent from another site"
        kinds = values(scope, b"content-type")
        if len(kinds) != 1 or kinds[0].partition(";")[0].strip().lower() != "application/json":
            return 415, "only JSON is read"
        sizes = values(scope, b"content-length")
        if sizes and (not sizes[0].isascii() or not sizes[0].isdigit() or int(sizes[0][:12]) > LARGEST):
            return 413, f"more than {LARGEST:,} bytes"
        return None

    def add_headers(self, send: Send) -> Send:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", []))
                have = {name.lower() for name, _ in headers}
                more: Iterable[tuple[bytes, bytes]] = (*HEADERS, *([STRICT] if self.binding.secure else []))
                headers += [pair for pair in more if pair[0] not in have]
                if b"cache-control" not in have:
                    headers.append((b"cache-control", b"no-store"))
                message = {**message, "headers": headers}
            await send(message)

        return send_with_headers


def find_address(scope: Scope, binding: Binding) -> str:
    """The caller's address: the peer; behind a proxy on this machine, the address that the proxy reports.

    A proxy writes what it saw at the end of X-Forwarded-For; what stands before was said by whoever asks.
    """
    peer = scope["client"][0] if scope.get("client") else ""
    if binding.origin is None or peer not in LOOPBACK:
        return str(peer)
    forwarded = ",".join(values(scope, b"x-forwarded-for")).rpartition(",")[2].strip()
    return forwarded[:64] or str(peer)


def values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


async def read_all(receive: Receive) -> bytes | None:
    """The whole body; None if it is too large."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return body  # whoever sent it has gone
        body += message.get("body", b"")
        if len(body) > LARGEST:
            return None
        more = message.get("more_body", False)
    return body


def again(body: bytes, receive: Receive) -> Receive:
    """A receive function that returns the body again, then later messages."""
    replayed = False

    async def read() -> Message:
        nonlocal replayed
        if replayed:
            return await receive()
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return read


async def refuse(send: Send, status: int, why: str) -> None:
    body = json.dumps({"detail": why}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 400:  # nobody knows where the next request would begin
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
