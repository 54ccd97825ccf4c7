"""How often somebody may ask: a bucket of `burst` calls that fills by `rate` a second. What is held is bounded."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

HELD = 10_000  # askers remembered; the one who was silent longest is forgotten, and would have a full bucket by then


class Buckets:
    """One bucket an asker."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.burst, self.clock = rate, float(burst), clock
        self.held: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # asker → (calls left, when)
        self.lock = threading.Lock()

    def take(self, who: Hashable) -> float:
        """0 where the call may be made; else the seconds until one may."""
        with self.lock:
            now = self.clock()
            left, when = self.held.pop(who, (self.burst, now))
            left = min(self.burst, left + max(0.0, now - when) * self.rate)  # a clock may be set back
            wait = 0.0 if left >= 1 else (1 - left) / self.rate
            self.held[who] = (left - 1 if not wait else left, now)
            while len(self.held) > HELD:
                self.held.popitem(last=False)
            return wait
