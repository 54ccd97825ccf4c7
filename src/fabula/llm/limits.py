"""How fast an endpoint may be asked: requests and tokens a minute, and how many at once.

The generic cell rate algorithm (ITU-T I.371): with a rate r, a request of n units may begin at T, and the next at

    T = max(T, now) + n / r

Each request has its own instant, so a late one makes no other late, and the rate is kept however many wait.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Pace:
    """A rate in units a minute; None is no limit."""

    def __init__(self, per_minute: float | None) -> None:
        self.seconds = 60 / per_minute if per_minute else 0.0  # of one unit
        self.free = 0.0  # when the next may begin

    def reserve(self, units: float, now: float) -> float:
        """When a request of so many units may begin; they are taken."""
        begin = max(self.free, now)
        self.free = begin + units * self.seconds
        return begin

    def give_back(self, units: float) -> None:
        """Units that were reserved and not used."""
        self.free -= units * self.seconds


class Limits:
    """What is shared by all calls to one endpoint."""

    def __init__(self, concurrency: int, rpm: float | None = None, tpm: float | None = None) -> None:
        self.requests, self.tokens = Pace(rpm), Pace(tpm)
        self.slots = asyncio.Semaphore(concurrency)
        self.closed_until = 0.0  # the endpoint said: come back later

    def hold(self, seconds: float) -> None:
        """Nobody asks before so many seconds have passed."""
        self.closed_until = max(self.closed_until, time.monotonic() + seconds)

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncIterator[None]:
        """A place among those that ask at this moment."""
        now = time.monotonic()
        begin = max(self.requests.reserve(1, now), self.tokens.reserve(tokens, now))
        if begin > now:
            await asyncio.sleep(begin - now)
        async with self.slots:
            while (wait := self.closed_until - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            yield
