"""MR_R1, moment retrieval at rank 1 (QVHighlights: Lei et al., NeurIPS 2021): is the first window right?

R1, τ = share of queries whose first window has IoU ≥ τ with one of the reference windows

order  score: the first is the one with the highest score · file: the one that is listed first, as the published code
       takes it: shuffling a file's windows then changes R1
undefined  miss: a reversed reference is nothing to be compared with · chosen: one whose IoU with the window is 0/0 is
       the one that it is compared with, a miss whatever the others are, as published: NaN is the greatest for argmax
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.core.spec import show
from fabula.metrics.moments._lengths import BUCKETS, THRESHOLDS, ByLength, count_queries, of_length, weight_of
from fabula.metrics.moments.base import Block, Columns, Floats, Ints
from fabula.metrics.moments.grounding import first_iou
from fabula.pair.tiou import shared


@dataclass(frozen=True, kw_only=True)
class Metric(ByLength):
    name: ClassVar[str] = "MR_R1"
    perfect_score: ClassVar[str] = ""
    fields: ClassVar[tuple[str, ...]] = (
        *(f"r1@{t:g}" for t in THRESHOLDS),
        *(f"{b}-r1@{t}" for b in BUCKETS for t in (0.5, 0.7)),
    )
    primary: ClassVar[str] = "r1@0.5"
    late: ClassVar[frozenset[str]] = ByLength.late | {"undefined"}
    rules: ClassVar[Mapping[str, str]] = {
        "undefined=miss": "a reversed reference overlaps nothing",
        "undefined=chosen": "a reversed reference as long as the window is the one that it is compared with",
    }

    order: Literal["score", "file"] = "score"
    undefined: Literal["miss", "chosen"] = "miss"

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
            if self.undefined == "chosen":
                best[meets_undefined(block, self.order, inside)] = 0.0
            n = count_queries(inside)
            prefix = "" if bucket == "full" else f"{bucket}-"
            columns |= {f"{prefix}r1@{show(t)}": (best >= t) * n for t in self.iou} | {f"n {bucket}": n}
        return {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}


def meets_undefined(block: Block, order: str, windows: Floats) -> Ints:
    """The queries whose first window has an IoU of 0/0 with a reference: lengths that add up to 0, nothing shared."""
    at, _ = block.ranked(order, 1, right=True)
    of, spans = block.of[at], block.spans[at]
    lengths = np.diff(spans)[:, None] + np.diff(windows[of])  # [K, W, 1]
    alone = shared(spans[:, None], windows[of]) == 0  # [K, W]; False where there is no window
    met: Ints = of[(alone & (lengths[..., 0] == 0)).any(axis=1)]
    return met
