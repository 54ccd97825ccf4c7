"""Windows of a query in its video (QVHighlights: Lei et al., NeurIPS 2021), all and by length: MR_R1 and MR_mAP.

short (0, 10] · middle (10, 30] · long (30, ∞) seconds; a query counts for a length when it has such a window, and
only these windows are its answers then. The published code ends `long` at 150 s, the length of its videos.

long     the longest window that is `long`; none: there is no limit
longest  the longest window that counts at all; none: every window counts

MR_R1    R1, τ = share of queries whose first window has IoU ≥ τ with one of the reference windows

         order  score: the first is the one with the highest score · file: the one that is listed first, as the
                published code takes it: shuffling a file's windows then changes R1
         undefined  miss: a reversed reference is nothing to be compared with · chosen: one whose IoU with the window
                is 0/0 is the one that it is compared with, a miss whatever the others are, as published: NaN is the
                greatest for argmax

MR_mAP   Per query and τ: windows in order of score; each takes the free reference window it overlaps most, if IoU ≥ τ,
         and is then a true positive, else a false one.

             AP = Σ_i (R_i − R_{i−1}) · max_{j ≥ i} P_j        mAP = mean over queries, then over τ ∈ {.5, .55, …, .95}

         order  score: windows of one score rank by start and end, and of references that one overlaps equally it takes
                the later, so that no number depends on the order of a file · file: the file's order decides both
         top    only so many windows count: with order=score the best ones, with order=file the first ones of the file
         empty  zero: a query whose list of windows is empty counts as 0 · drop: it does not count, as in the published
                code, so that silence raises the mean
         undefined  miss · hit: a window whose IoU is 0/0, reversed and as long as a reference, takes that one at every
                τ, as in the published code, where no threshold turns down what is not a number
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.core.spec import show
from fabula.metrics.moments.base import Block, Columns, Floats, Ints, MomentMetric, places
from fabula.metrics.moments.grounding import first_iou
from fabula.metrics.precision import precision_of_windows
from fabula.pair.tiou import area_iou, shared

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

    def weight(self, field: str) -> str:
        """`n short` for short@0.5 and short; `n full` for the rest."""
        bucket = field.partition("@")[0].partition("-")[0]
        return f"n {bucket if bucket in BUCKETS else 'full'}"


def of_length(windows: Floats, bounds: tuple[float, float]) -> Floats:
    """The windows whose length is in bounds; NaN for the others. [Q, W, 2]"""
    length = windows[..., 1] - windows[..., 0]
    inside = (length > bounds[0]) & (length <= bounds[1])  # False where there is no window
    return np.where(inside[..., None], windows, np.nan)


def count_queries(windows: Floats) -> Floats:
    """1 for the queries that have a window. [Q]"""
    return (~np.isnan(windows[..., 0])).any(axis=1).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class FirstRecall(ByLength):
    name: ClassVar[str] = "MR_R1"
    summary: ClassVar[str] = (
        "MR_R1, moment retrieval at rank 1 (QVHighlights: Lei et al., NeurIPS 2021): is the first window right?"
    )
    perfect_score: ClassVar[str] = ""
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
        shown = [t for t in self.iou if t in (0.5, 0.7)] or self.iou[:1]
        return (*(f"r1@{show(t)}" for t in self.iou), *(f"{b}-r1@{show(t)}" for b in buckets for t in shown))

    def units(self, block: Block) -> Columns:
        windows, _ = block.windows()
        columns: Columns = {}
        for bucket, bounds in self.bounds().items():
            inside = of_length(windows, bounds)
            best = first_iou(block, self.order, windows=inside)
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
    undefined: Ints = of[(alone & (lengths[..., 0] == 0)).any(axis=1)]
    return undefined


@dataclass(frozen=True, kw_only=True)
class MeanPrecision(ByLength):
    name: ClassVar[str] = "MR_mAP"
    summary: ClassVar[str] = (
        "MR_mAP, mean average precision of windows (QVHighlights: Lei et al., NeurIPS 2021), per query, by window "
        "length."
    )
    perfect_score: ClassVar[str] = "only 10 windows of a query count, and it may have more"
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

    def units(self, block: Block) -> Columns:
        iou, ranked = self.overlaps(block)
        windows = self.references(block)
        silent = block.answered & (block.counts == 0) & (self.empty == "drop")  # named without a window
        columns: Columns = {}
        for bucket, bounds in self.bounds().items():
            inside = of_length(windows, bounds)
            n = count_queries(inside) * (1 - silent)
            absent = np.isnan(inside[..., 0])  # [Q, W]
            ap = precision_of_windows(np.where(absent[:, None], -1.0, iou), ranked, ~absent, self.iou) * n[:, None]
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
        return np.take_along_axis(windows, order[..., None], axis=1)

    def overlaps(self, block: Block) -> tuple[Floats, np.ndarray]:
        """IoU of each query's windows, best first, with its reference windows [Q, P, W]; and which there are [Q, P]."""
        at, _ = block.ranked(self.order, self.top)
        of = block.of[at]
        again = np.lexsort((np.arange(len(at)), -block.scores[at], of))  # cut first, then in order of score
        at, of = at[again], of[again]
        place = places(of, len(block))
        windows = self.references(block)
        iou = np.full((len(block), int(place.max(initial=-1)) + 1, windows.shape[1]), -1.0)
        ranked = np.zeros(iou.shape[:2], dtype=bool)
        found = area_iou(block.spans[at][:, None], windows[of])
        if self.undefined == "hit":
            lengths = np.diff(block.spans[at])[:, None] + np.diff(windows[of])  # [K, W, 1]
            found = np.where((found == 0) & (lengths[..., 0] == 0), np.inf, found)
        iou[of, place] = np.where(np.isnan(found) | ~block.right[at][:, None], -1.0, found)
        ranked[of, place] = True
        return iou, ranked


METRICS = (MeanPrecision, FirstRecall)
