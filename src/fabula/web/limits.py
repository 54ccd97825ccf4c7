"""Rate limits: a bucket of `burst` calls that refills by `rate` per second. The number of buckets is bounded."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

MOST_BUCKETS = 10_000  # callers remembered; the oldest is dropped: its bucket would be full again by then


class Buckets:
    """One bucket per caller."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.burst, self.clock = rate, float(burst), clock
        self.buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # asker → (calls left, when)
        self.lock = threading.Lock()

    def take(self, who: Hashable) -> float:
        """0 if the call is allowed; else the seconds to wait."""
        with self.lock:
            now = self.clock()
            left, when = self.buckets.pop(who, (self.burst, now))
            left = min(self.burst, left + max(0.0, now - when) * self.rate)  # a clock may be set back
            wait = 0.0 if left >= 1 else (1 - left) / self.rate
            self.buckets[who] = (left - 1 if not wait else left, now)
            while len(self.buckets) > MOST_BUCKETS:
                self.buckets.popitem(last=False)
            return wait
