"""DenseCap mAP: boxes in the right place with the right words, over 30 thresholds (Johnson et al., CVPR 2016).

Detections of all images, surest first. At IoU threshold o and METEOR threshold s a detection is a hit when

    IoU ≥ o   and   METEOR > s   and   no surer detection has its reference

    map    = mean of AP(o, s) over o ∈ {.3 .4 .5 .6 .7}, s ∈ {0 .05 .1 .15 .2 .25}
    detmap = mean of AP(o) over o, words not asked for

Reference boxes that overlap by .7 are merged first, and METEOR takes all captions of the merged box. s = 0 still asks
for a METEOR above 0. The default is the published evaluator without its index fault (stray=nothing). It keeps what is a
choice rather than a fault: a reference is claimed by whoever overlaps it most, before any threshold is looked at
(claim=best), and recall 1.0 is not asked for (levels=100). The rest is in base.py and metrics/precision.py.

DenseCap_AP has each of the 35 average precisions: iou0.5_meteor0.1 is AP at IoU ≥ .5 and METEOR > .1, iou0.5 the
detection AP at IoU ≥ .5. It is computed when asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fabula.core.means import mean
from fabula.core.rows import Rows
from fabula.core.spec import show
from fabula.metrics.base import Values
from fabula.metrics.precision import Grid, average_precision
from fabula.metrics.regions.base import Floats, RegionMetric
from fabula.text import meteor

Ints = NDArray[np.int64]
STABLE = 16  # values that torch.sort keeps in order where they are equal


@dataclass(frozen=True, kw_only=True)
class MeanPrecision(RegionMetric):
    name: ClassVar[str] = "DenseCap_mAP"
    paper: ClassVar[str] = "Johnson et al., CVPR 2016"
    fields: ClassVar[tuple[str, ...]] = ("map", "detmap")
    primary: ClassVar[str] = "map"
    rules: ClassVar[Mapping[str, str]] = {
        "levels=100": "recall 1.0 is not asked for",
        "levels=101": "recall 1.0 is asked for",
        "grid=exact": "recall levels are exact",
        "grid=float32": "precision, recall and its levels are float32",
        "grid=arange": "precision and recall are float32, recall levels those of torch.arange",
        "grid=accumulated": "recall levels are added up in doubles, so that a recall of exactly .5 fails the level .5",
    }

    levels: Literal["100", "101"] = "100"
    grid: Grid = "exact"

    def precisions(self, rows: Rows) -> dict[tuple[float, float | None], float]:
        """AP at every (IoU, METEOR) threshold; METEOR None: the place alone."""
        real = np.arange(rows["score"].shape[1]) < rows["detections"][:, None]  # the rest is padding
        npos = int(rows["references"].sum())
        place = self.rank(rows["score"][real])
        able = rows["iou"][real] >= min(self.ious)
        able &= rows["ok"][real] == 1 if self.claim == "best" else rows["prior"][real] < max(self.ious)
        at = np.flatnonzero(able)
        at = at[np.argsort(place[at], kind="stable")]
        place = place[at]
        iou, prior, words = (rows[column][real][at] for column in ("iou", "prior", "meteor"))
        found: dict[tuple[float, float | None], float] = {}
        for o in self.ious:
            there = iou >= o if self.claim == "best" else (iou >= o) & (prior < o)
            for s in (*self.meteors, None):
                hits = place[there if s is None else there & (words > s)]
                found[o, s] = average_precision(hits, npos, int(self.levels), self.grid)
        return found

    def rank(self, scores: Floats) -> Ints:
        """The place of every detection among all, from 1 on; with ties=together that of the last one of its score."""
        if self.ties == "together":
            return len(scores) - np.searchsorted(np.sort(scores), scores, side="left")
        order = np.argsort(-scores, kind="stable")
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(1, len(order) + 1)
        return place

    def count_unsettled(self, rows: Rows) -> int:
        """torch.sort keeps the order of equal scores among 16 values, and among more it may not."""
        if self.grid != "arange" or not len(rows):
            return 0
        real = np.arange(rows["score"].shape[1]) < rows["detections"][:, None]
        if int(real.sum()) <= STABLE:
            return 0
        with np.errstate(over="ignore"):  # beyond float32 all scores are one
            scores = rows["score"][real].astype(np.float32)
        _, often = np.unique(scores, return_counts=True)
        return int(often[often > 1].sum())

    def combine(self, rows: Rows) -> Values:
        found = self.precisions(rows)
        return {
            "map": mean([ap for (_, s), ap in found.items() if s is not None]),
            "detmap": mean([ap for (_, s), ap in found.items() if s is None]),
        }

    def influencing_columns(self, rows: Rows, field: str) -> Floats:
        """How many references, and which thresholds each detection passes: AP asks for no more."""
        ious = np.sort(self.ious)
        place = np.searchsorted(ious, rows["iou"], side="right")
        taken = 0 * place if self.claim == "best" else np.searchsorted(ious, rows["prior"], side="right")
        words = np.searchsorted(np.sort(self.meteors), rows["meteor"], side="left")
        hit = (place > 0) & (rows["ok"] == 1) if self.claim == "best" else place > taken
        hit = hit & (words > 0) if field == "map" else hit
        passed = (place, taken) if field == "detmap" else (place, taken, words)
        return np.concatenate([rows["references"][:, None], *(column * hit for column in passed)], axis=1)

    def about(self) -> Mapping[str, str]:
        return {"meteor": meteor.SCORER.version}


def name_precision(o: float, s: float | None) -> str:
    return f"iou{show(o)}" if s is None else f"iou{show(o)}_meteor{show(s)}"


@dataclass(frozen=True, kw_only=True)
class EachPrecision(MeanPrecision):
    name: ClassVar[str] = "DenseCap_AP"
    summary: ClassVar[str] = (
        "DenseCap AP: each of the 35 average precisions that DenseCap mAP is the mean of (Johnson et al., CVPR 2016)."
    )
    primary: ClassVar[str] = "iou0.5_meteor0"
    shown: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """The thresholds may be others than the usual ones, so the names come from them."""
        super().__post_init__()
        names = tuple(name_precision(o, s) for o in self.ious for s in (*self.meteors, None))
        object.__setattr__(self, "fields", names)
        object.__setattr__(self, "primary", type(self).primary if type(self).primary in names else names[0])

    def fold(self, rows: Rows) -> Values:
        return self.combine(rows)

    def combine(self, rows: Rows) -> Values:
        return {name_precision(o, s): ap for (o, s), ap in self.precisions(rows).items()}


METRICS = (EachPrecision, MeanPrecision)
