"""Windows by length, as QVHighlights reports them (Lei et al., NeurIPS 2021): short, middle, long, and all.

short (0, 10] · middle (10, 30] · long (30, ∞) seconds; a query counts for a length when it has such a window, and
only these windows are its answers then. The published code ends `long` at 150 s, the length of its videos.

long     the longest window that is `long`; none: there is no limit
longest  the longest window that counts at all; none: every window counts
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fabula.metrics.moments.base import Block, Floats, MomentMetric

BUCKETS = ("short", "middle", "long")
THRESHOLDS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)


@dataclass(frozen=True, kw_only=True)
class ByLength(MomentMetric):
    """Base of metrics that are reported for all windows and by length."""

    paper: ClassVar[str] = "Lei et al., NeurIPS 2021"
    tasks: ClassVar[tuple[str, ...]] = ("highlights",)
    answers: ClassVar[str] = "SVMR"
    rules: ClassVar[Mapping[str, str]] = {
        "lengths=true": "numbers are reported by length of window too",
        "lengths=false": "numbers by length of window are not reported",
        "long=none": "a long window may have any length",
        "long": "windows of more than {} s have no length of their own",
        "longest=none": "windows of any length count",
        "longest": "windows of more than {} s, or of none, vanish, and with them the queries that have no other",
    }

    iou: tuple[float, ...] = THRESHOLDS
    lengths: bool = True
    short: float = 10.0
    middle: float = 30.0
    long: float | None = None
    longest: float | None = None

    def bounds(self) -> dict[str, tuple[float, float]]:
        """name → (more than, up to), the windows' lengths; `full` first."""
        last = math.inf if self.long is None else self.long
        found = {"full": (-math.inf, math.inf) if self.longest is None else (0.0, self.longest)}
        if self.lengths:
            found |= {"short": (0.0, self.short), "middle": (self.short, self.middle), "long": (self.middle, last)}
        return found


def of_length(windows: Floats, bounds: tuple[float, float]) -> Floats:
    """The windows whose length is in bounds; NaN for the others. [Q, W, 2]"""
    length = windows[..., 1] - windows[..., 0]
    inside = (length > bounds[0]) & (length <= bounds[1])  # False where there is no window
    kept: Floats = np.where(inside[..., None], windows, np.nan)
    return kept


def count_queries(windows: Floats) -> Floats:
    """1 for the queries that have a window. [Q]"""
    found: Floats = np.any(~np.isnan(windows[..., 0]), axis=1).astype(np.float64)
    return found


def weight_of(field: str) -> str:
    """`n short` for short@0.5 and short; `n full` for the rest."""
    bucket = field.partition("@")[0].partition("-")[0]
    return f"n {bucket if bucket in BUCKETS else 'full'}"


def empty_rankings(block: Block) -> Floats:
    """1 for the queries that the predictions name without a window. [Q]"""
    empty: Floats = (block.answered & (block.counts == 0)).astype(np.float64)
    return empty
