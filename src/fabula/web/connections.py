"""Connections that are bounded in number and in time, on top of uvicorn's HTTP (h11); needs the extra `web`.

A connection is in one of four phases, and each has its limit:

    head     a request's lines are awaited or half sent      HEAD seconds in all, however slowly bytes come
    body     a request's body is awaited                     BODY seconds in all (guard.py bounds its size)
    answer   it is being answered                            STALLED seconds without the client taking what was sent
    idle     answered; the next request may come             IDLE seconds (uvicorn's keep-alive)

There are fewer connections than files may be open (every answer may open one besides). When all are taken, the one that
has been half sent for the longest goes, then the one that has been idle for the longest: whoever sends a whole request
is answered. One address other than this machine's own (a proxy's) has a quarter of them at most.

What is logged is bounded too: a line is written once in a while, with the number of its repetitions.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections import Counter, OrderedDict
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from fabula.documents.fields import JsonDict

HEAD, BODY, STALLED, IDLE = 10.0, 30.0, 60.0, 30
MOST = 1024  # connections, where files suffice
SPARE = 64  # files that are open besides connections and what they answer with
ACCEPTED = 16  # connections taken at once, before anybody looks whether they are too many
QUEUE = 1024  # connections that wait in the kernel
QUIET = 60.0  # seconds in which the same line is logged once
HERE = ("127.0.0.1", "::1", "")


def count_connections() -> int:
    """How many there may be: each takes a file, and its answer may take another."""
    try:
        import resource

        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    except (ImportError, OSError, ValueError):  # Windows
        return MOST
    return MOST if files < 0 else max(ACCEPTED, min(MOST, (files - SPARE) // 2))


class Connections:
    """All that are open, and which of them may be closed for others: half sent ones first, then idle ones."""

    def __init__(self, most: int | None = None) -> None:
        self.most = count_connections() if most is None else most
        self.by_address: Counter[str] = Counter()
        self.half: OrderedDict[Connection, None] = OrderedDict()  # since when: the oldest first
        self.idle: OrderedDict[Connection, None] = OrderedDict()

    def add(self, new: Connection) -> None:
        self.by_address[new.address] += 1
        if new.address not in HERE and self.by_address[new.address] > max(1, self.most // 4):
            own = (c for group in (self.half, self.idle) for c in group if c.address == new.address)
            next(own, new).drop()
        elif self.by_address.total() > self.most:
            next(iter(self.half or self.idle), new).drop()

    def move(self, one: Connection, phase: str) -> None:
        self.half.pop(one, None)
        self.idle.pop(one, None)
        if phase in ("head", "body"):
            self.half[one] = None
        elif phase in ("idle", "stalled"):
            self.idle[one] = None

    def remove(self, one: Connection) -> None:
        self.move(one, "closed")
        self.by_address[one.address] -= 1
        if self.by_address[one.address] <= 0:
            del self.by_address[one.address]


class Connection(H11Protocol):
    """uvicorn's protocol with limits. `pool` is set by the server's own subclass."""

    pool: Connections
    timer: asyncio.TimerHandle | None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self.phase, self.is_open, self.timer = "", True, None
        self.enter("head", HEAD)
        self.pool.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.is_open:
            self.is_open = False
            self.enter("closed")
            self.pool.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.is_open:
            super().data_received(data)
            self.update_phase()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.update_phase()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.enter("stalled", STALLED)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.phase == "stalled":
            self.phase = ""
            self.update_phase()

    def update_phase(self) -> None:
        """Update the phase of the connection."""
        theirs = self.conn.their_state
        if not self.is_open or self.phase == "stalled":
            return
        if theirs is h11.SEND_BODY:
            self.enter("body", BODY)
        elif theirs is not h11.IDLE:
            self.enter("answer")
        elif self.cycle is None or self.conn.trailing_data[0]:
            self.enter("head", HEAD)
        else:
            self.enter("idle")

    def enter(self, phase: str, seconds: float | None = None) -> None:
        """A phase that goes on keeps its time: bytes that drip do not lengthen it."""
        if phase == self.phase:
            return
        self.phase = phase
        if self.timer is not None:
            self.timer.cancel()
        self.timer = None if seconds is None else self.loop.call_later(seconds, self.drop)
        self.pool.move(self, phase)

    def drop(self) -> None:
        """Close it now, whatever is still to be sent; it makes room at once."""
        if self.is_open:
            self.is_open = False
            self.enter("closed")
            self.pool.remove(self)
            self.transport.abort()


class Seldom(logging.Filter):
    """Log a repeated message only once in a while, with the number of repeats."""

    def __init__(self) -> None:
        super().__init__()
        self.written: OrderedDict[str, tuple[float, int]] = OrderedDict()  # message → (time written, left out since)

    def filter(self, record: logging.LogRecord) -> bool:
        kind, now = str(record.msg)[:200], time.monotonic()
        when, left_out = self.written.pop(kind, (-QUIET, 0))
        if now - when < QUIET:
            self.written[kind] = (when, left_out + 1)
            return False
        self.written[kind] = (now, 0)
        if len(self.written) > 100:
            self.written.popitem(last=False)
        if left_out:
            record.msg = f"{record.msg} ({left_out:,} more of these since the last one)"
        return True


class Server(uvicorn.Server):
    """uvicorn's server: few connections are taken at once, many may wait for it."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(log_failure)
        await super().startup(sockets=sockets)
        for bound in sockets or []:
            bound.listen(QUEUE)  # asyncio takes one number for this and for those taken at once


def log_failure(loop: asyncio.AbstractEventLoop, context: JsonDict) -> None:
    """One line for what the system refuses (no file left for a connection); else asyncio's own words."""
    error = context.get("exception")
    if isinstance(error, OSError):
        why = error.strerror or type(error).__name__
        logging.getLogger("uvicorn.error").error(f"{context.get('message')} ({why})".replace("%", "%%"))
    else:
        loop.default_exception_handler(context)


def make_server(app: Any, **settings: Any) -> Server:
    """A server of `app`, to be run on a bound socket. Addresses that a request tells of itself are not believed."""

    class Limited(Connection):
        pool = Connections()

    config = uvicorn.Config(
        app,
        **{
            "http": Limited,
            "log_level": "warning",
            "access_log": False,  # links carry tokens
            "server_header": False,
            "proxy_headers": False,  # guard.find_address
            "backlog": ACCEPTED,
            "timeout_keep_alive": IDLE,
            "timeout_graceful_shutdown": 3,
            "lifespan": "off",
            "ws": "none",
            **settings,
        },
    )
    for name in ("uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        for old in [f for f in logger.filters if isinstance(f, Seldom)]:
            logger.removeFilter(old)
        logger.addFilter(Seldom())
    return Server(config)
