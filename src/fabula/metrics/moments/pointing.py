"""Pointing (E.T. Bench's highlights, Liu et al., NeurIPS 2024): an answer names one moment, which must lie in a window.

hit = share of queries whose first answer, a point in time, lies in one of the query's windows, ends included

A window in place of a point is meant by its middle. Windows of several annotators are all right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.metrics.moments.base import Block, Columns, MomentMetric


@dataclass(frozen=True, kw_only=True)
class Metric(MomentMetric):
    name: ClassVar[str] = "Pointing"
    perfect_score: ClassVar[str] = ""
    paper: ClassVar[str] = "Liu et al., NeurIPS 2024"
    tasks: ClassVar[tuple[str, ...]] = ()  # where it is asked for
    answers: ClassVar[str] = "SVMR"

    over: Literal["queries", "sources"] = "queries"
    reader: str = "point"

    def names(self) -> tuple[str, ...]:
        return ("hit",)

    def units(self, block: Block) -> Columns:
        at, _ = block.ranked("file", 1, right=True)
        of = block.of[at]
        point = block.spans[at].mean(axis=1)[:, None]  # [K, 1]
        windows = block.windows()[0][of]  # [K, W, 2], NaN where a query has fewer
        inside = (windows[..., 0] <= point) & (point <= windows[..., 1])
        hit = np.zeros(len(block))
        hit[of] = inside.any(axis=1)
        return {"hit": hit}
