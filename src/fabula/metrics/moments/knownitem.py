"""KnownItem: a person knows the moment and looks for it; how much video must they watch until they come to it?

They watch the answers in order, each from its start, nothing twice, and stop where the moment begins:

T = |∪ of the answers before the first one, a, that shares time with a window g of the query's video, and of [s_a, s_g]|
T = ∞ where no answer does                                            seconds of video; s: start; 0 where s_a ≥ s_g

saved    = 1 − min(T, patience) / patience         mean seconds, given up at `patience`: (1 − saved) · patience
found@t  = share of queries with T ≤ t

Known-item search is judged by the time until the item is found (TRECVID; Video Browser Showdown: Lokoč et al., 2019);
here the reader's clock is the video's own. A long answer that holds the moment at its end costs what it takes to get
there, so cutting well counts, and so do wrong answers above: short ones cost little.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.core.errors import SpecError
from fabula.core.spec import show
from fabula.metrics.moments.base import Block, Columns, Floats, Ints, MomentMetric
from fabula.pair.tiou import sound


@dataclass(frozen=True, kw_only=True)
class Metric(MomentMetric):
    name: ClassVar[str] = "KnownItem"
    perfect_score: ClassVar[str] = ""
    paper: ClassVar[str] = "Lokoč et al., TOMM 2019"
    tasks: ClassVar[tuple[str, ...]] = ()  # where it is asked for
    answers: ClassVar[str] = "VCMR"
    rules: ClassVar[Mapping[str, str]] = {
        "patience": "a person gives up after {} seconds of video",
        "within": "found@t is reported for t = {} seconds of video",
        "top=none": "every answer of a list is looked at",
        "top": "only the first {} answers of a list are looked at",
    }

    patience: float = 600.0  # seconds
    within: tuple[float, ...] = (10, 60, 300)
    top: int | None = 100
    order: Literal["file", "score"] = "file"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.patience > 0:
            raise SpecError(f"{self.name}: patience={show(self.patience)}; it is more than 0 seconds")
        if min(self.within) < 0:
            raise SpecError(f"{self.name}: within={show(self.within)}; seconds are no less than 0")

    def names(self) -> tuple[str, ...]:
        return ("saved", *(f"found@{show(t)}" for t in self.within))

    def units(self, block: Block) -> Columns:
        T = self.seconds(block)
        columns: Columns = {"saved": 1 - np.minimum(T, self.patience) / self.patience}
        columns |= {f"found@{show(t)}": (t >= T).astype(np.float64) for t in self.within}
        return columns | {"seconds": np.minimum(T, self.patience)}

    def seconds(self, block: Block) -> Floats:
        """T of every query. [Q]"""
        at, _ = block.ranked(self.order, self.top)
        at = at[sound(block.spans[at])]  # a reversed answer shows nothing
        T = np.full(len(block), np.inf)
        for q, (query, own) in enumerate(zip(block.queries, block.by_query(at), strict=True)):
            windows = np.array(query.windows, dtype=np.float64).reshape(-1, 2)
            T[q] = find_seconds(block.spans[own], block.videos[own], int(block.own[q]), windows)
        return T


def find_seconds(spans: Floats, videos: Ints, own: int, windows: Floats) -> float:
    """T of one query: answers [A, 2] in order, the videos they lie in [A], the query's, its windows [W, 2]."""
    meets = (spans[:, None, 0] < windows[:, 1]) & (spans[:, None, 1] > windows[:, 0])  # [A, W]
    right = np.flatnonzero((videos == own) & meets.any(axis=1))
    if not len(right):
        return float("inf")
    first = int(right[0])
    played = spans[: first + 1].copy()
    played[first, 1] = max(played[first, 0], windows[meets[first], 0].min())  # they stop where the moment begins
    return sum_watched(played, videos[: first + 1])


def sum_watched(spans: Floats, videos: Ints) -> float:
    """Seconds of video in these stretches, none counted twice."""
    order = np.lexsort((spans[:, 0], videos))
    total, video, end = 0.0, None, -np.inf
    for v, (start, stop) in zip(videos[order].tolist(), spans[order].tolist(), strict=True):
        if v != video:
            video, end = v, -np.inf
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total
