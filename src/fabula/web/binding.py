"""Where a server is bound. On this machine alone, unless an origin is stated under which others reach it."""

from __future__ import annotations

import contextlib
import re
import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from fabula.core.errors import InputError, MissingExtra, SpecError, shown
from fabula.core.options import Options, option

LOOPBACK = ("127.0.0.1", "localhost", "::1")
OURS = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]{1,5})?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Binding(Options):
    """Where, and under which name."""

    host: str = option("127.0.0.1", "Address to listen on; any address but loopback needs --origin.")
    port: int = option(8765, "Port to listen on; 0: any free port.", shows_default=True, at_least=0, at_most=65535)
    origin: str | None = option(
        None, "https://NAME under which others reach the server (through a proxy that speaks TLS)."
    )

    def __post_init__(self) -> None:
        if self.origin is not None:
            object.__setattr__(self, "origin", check_origin(self.origin))
        elif self.host not in LOOPBACK:
            raise SpecError(
                f"--host {shown(self.host)} would let others in; say --origin https://NAME, the one address they use"
            )

    @property
    def secure(self) -> bool:
        """Whether browsers reach it by TLS."""
        return (self.origin or "").startswith("https://")

    def allows_host(self, host: str) -> bool:
        """The Host names that are accepted: other names are refused, against DNS rebinding."""
        if self.origin is not None:
            return host.lower() == self.origin.partition("://")[2]
        return OURS.fullmatch(host) is not None

    def allows_origin(self, origin: str, host: str) -> bool:
        """The accepted Origin: the page that sends data must come from this server."""
        if self.origin is not None:
            return origin.lower() == self.origin
        return origin.lower() == f"http://{host.lower()}"


def check_origin(origin: str) -> str:
    """scheme://host[:port], small letters; TLS unless it is this machine."""
    try:
        parts = urlsplit(origin.strip().lower())
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
        raise SpecError(f"--origin {shown(origin)} is no origin; it looks like https://study.example.org")
    if parts.username or parts.password or parts.fragment:
        raise SpecError(f"--origin {shown(origin)} holds more than a name; it looks like https://study.example.org")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise SpecError(f"--origin {shown(origin)}: links to a rater's answers would travel unencrypted; use https://")
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    usual = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{name}" + ("" if port in (None, usual) else f":{port}")


def open_socket(binding: Binding) -> socket.socket:
    """The bound socket; a port in use is reported before anything else happens."""
    family = socket.AF_INET6 if ":" in binding.host else socket.AF_INET
    # asyncio sends at once (TCP_NODELAY) only where the protocol is named; else every answer waits 40 ms for an ACK
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((binding.host, binding.port))
        found.listen()
    except OSError as error:
        found.close()
        raise InputError(
            f"port {binding.port} of {binding.host} cannot be opened ({error.strerror})",
            hint="choose another, or --port 0",
        ) from None
    return found


def run(app: Any, bound: socket.socket) -> None:
    """Serve until Ctrl-C, within the limits of connections.py."""
    try:
        from fabula.web.connections import make_server
    except ModuleNotFoundError as error:
        if error.name not in ("uvicorn", "h11"):
            raise
        raise MissingExtra("a server", "web") from None
    with contextlib.suppress(KeyboardInterrupt):  # it has ended in good order by then
        make_server(app).run(sockets=[bound])
