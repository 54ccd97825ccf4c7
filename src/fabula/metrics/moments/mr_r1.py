"""MR_R1, moment retrieval at rank 1 (QVHighlights: Lei et al., NeurIPS 2021): is the first window right?

R1, τ = share of queries whose first window has IoU ≥ τ with one of the reference windows

order  score: the first is the one with the highest score · file: the one that is listed first, as the published code
       takes it: shuffling a file's windows then changes R1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.core.spec import show
from fabula.metrics.moments._lengths import BUCKETS, THRESHOLDS, ByLength, count_queries, of_length, weight_of
from fabula.metrics.moments.base import Block, Columns
from fabula.metrics.moments.grounding import first_iou


@dataclass(frozen=True, kw_only=True)
class Metric(ByLength):
    name: ClassVar[str] = "MR_R1"
    fields: ClassVar[tuple[str, ...]] = (
        *(f"r1@{t:g}" for t in THRESHOLDS),
        *(f"{b}-r1@{t}" for b in BUCKETS for t in (0.5, 0.7)),
    )
    primary: ClassVar[str] = "r1@0.5"

    order: Literal["score", "file"] = "score"

    def names(self) -> tuple[str, ...]:
        buckets = BUCKETS if self.lengths else ()
        some = [t for t in self.iou if t in (0.5, 0.7)] or self.iou[:1]
        return (*(f"r1@{show(t)}" for t in self.iou), *(f"{b}-r1@{show(t)}" for b in buckets for t in some))

    def weight(self, field: str) -> str:
        return weight_of(field)

    def units(self, block: Block) -> Columns:
        windows, _ = block.windows()
        columns: Columns = {}
        for bucket, bounds in self.bounds().items():
            inside = of_length(windows, bounds)
            best = first_iou(block, self.order, inside)
            n = count_queries(inside)
            prefix = "" if bucket == "full" else f"{bucket}-"
            columns |= {f"{prefix}r1@{show(t)}": (best >= t) * n for t in self.iou} | {f"n {bucket}": n}
        return {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}
