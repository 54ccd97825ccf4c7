"""MR_mAP, mean average precision of windows (QVHighlights: Lei et al., NeurIPS 2021), per query, by window length.

Per query and τ: windows in order of score; each takes the free reference window it overlaps most, if IoU ≥ τ, and is
then a true positive, else a false one.

AP = Σ_i (R_i − R_{i−1}) · max_{j ≥ i} P_j        mAP = mean over queries, then over τ ∈ {.5, .55, …, .95}

order  score: windows of one score rank by start and end, and of references that one overlaps equally it takes the
       later, so that no number depends on the order of a file · file: the file's order decides both
top    only so many windows count: with order=score the best ones, with order=file the first ones of the file
empty  zero: a query whose list of windows is empty counts as 0 · drop: it does not count, as in the published code,
       so that silence raises the mean
undefined  miss · hit: a window whose IoU is 0/0, reversed and as long as a reference, takes that one at every τ, as in
       the published code, where no threshold turns down what is not a number
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.core.spec import show
from fabula.metrics.moments._lengths import (
    BUCKETS,
    THRESHOLDS,
    ByLength,
    count_queries,
    empty_rankings,
    of_length,
    weight_of,
)
from fabula.metrics.moments.base import Block, Columns, Floats, places
from fabula.metrics.precision import precision_of_windows
from fabula.pair.tiou import area_iou


@dataclass(frozen=True, kw_only=True)
class Metric(ByLength):
    name: ClassVar[str] = "MR_mAP"
    perfect_score: ClassVar[str] = "only 10 windows of a query count, and it may have more"
    fields: ClassVar[tuple[str, ...]] = ("map", *(f"map@{t:g}" for t in THRESHOLDS), *BUCKETS)
    primary: ClassVar[str] = "map"
    late: ClassVar[frozenset[str]] = ByLength.late | {"undefined"}
    rules: ClassVar[Mapping[str, str]] = {
        "order=score": "the windows with the best scores count, of one score the earlier",
        "order=file": "the windows that stand first in the file count, not those with the best scores",
        "top=none": "all windows count",
        "top": "only {} windows of a query count",
        "empty=zero": "a query with an empty list of windows counts as 0",
        "empty=drop": "a query with an empty list of windows does not count",
        "undefined=miss": "a reversed window overlaps nothing",
        "undefined=hit": "a reversed window as long as a reference is a hit: its IoU is 0/0",
    }

    order: Literal["score", "file"] = "score"
    top: int | None = 10
    empty: Literal["zero", "drop"] = "zero"
    undefined: Literal["miss", "hit"] = "miss"

    def names(self) -> tuple[str, ...]:
        return ("map", *(f"map@{show(t)}" for t in self.iou), *(BUCKETS if self.lengths else ()))

    def weight(self, field: str) -> str:
        return weight_of(field)

    def units(self, block: Block) -> Columns:
        iou, given = self.overlaps(block)
        windows = self.references(block)
        silent = empty_rankings(block) if self.empty == "drop" else np.zeros(len(block))
        columns: Columns = {}
        for bucket, bounds in self.bounds().items():
            inside = of_length(windows, bounds)
            n = count_queries(inside) * (1 - silent)
            absent = np.isnan(inside[..., 0])  # [Q, W]
            ap = precision_of_windows(np.where(absent[:, None], -1.0, iou), given, ~absent, self.iou) * n[:, None]
            mean = "map" if bucket == "full" else bucket
            columns |= {mean: ap.mean(axis=1), f"n {bucket}": n}
            columns |= {f"{mean}@{show(t)}": ap[:, i] for i, t in enumerate(self.iou)}
        return columns

    def references(self, block: Block) -> Floats:
        """The queries' windows, NaN where one has fewer; with order=score sorted by start and end. [Q, W, 2]"""
        windows, _ = block.windows()
        if self.order == "file":
            return windows
        order = np.lexsort((windows[..., 1], windows[..., 0]), axis=1)
        found: Floats = np.take_along_axis(windows, order[..., None], axis=1)
        return found

    def overlaps(self, block: Block) -> tuple[Floats, np.ndarray]:
        """IoU of each query's windows, best first, with its reference windows [Q, P, W]; and which there are [Q, P]."""
        at, _ = block.ranked(self.order, self.top)
        of = block.of[at]
        again = np.lexsort((np.arange(len(at)), -block.scores[at], of))  # cut first, then in order of score
        at, of = at[again], of[again]
        place = places(of, len(block))
        windows = self.references(block)
        iou = np.full((len(block), int(place.max(initial=-1)) + 1, windows.shape[1]), -1.0)
        given = np.zeros(iou.shape[:2], dtype=bool)
        found = area_iou(block.spans[at][:, None], windows[of])
        if self.undefined == "hit":
            lengths = np.diff(block.spans[at])[:, None] + np.diff(windows[of])  # [K, W, 1]
            found = np.where((found == 0) & (lengths[..., 0] == 0), np.inf, found)
        iou[of, place] = np.where(np.isnan(found) | ~block.right[at][:, None], -1.0, found)
        given[of, place] = True
        return iou, given
