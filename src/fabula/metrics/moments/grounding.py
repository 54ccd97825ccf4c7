"""Grounding (Gao et al., ICCV 2017): one window per query in a known video; R@1 at IoU τ, and the mean IoU.

R@1, τ = share of queries whose first answer has IoU ≥ τ      mIoU = mean IoU of first answers
An answer that could not be read has no window: it is a miss. With several reference windows the best one counts.
Answers in words are read by `reader`, ours or a published evaluator's (`fabula list readers`).

mean    yes: the mean of R@1 over all τ besides, as `r1`
digits  float64 · mixed: IoU in single precision, by areas, against τ in double: 0.7 itself is missed (E.T. Bench)
over    queries: one mean · sources: the mean over the data sets that queries come from of the mean of each
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.core.spec import show
from fabula.metrics.moments.base import Block, Columns, Floats, MomentMetric
from fabula.pair.tiou import hull_iou, single_iou


@dataclass(frozen=True, kw_only=True)
class Metric(MomentMetric):
    name: ClassVar[str] = "Grounding"
    perfect_score: ClassVar[str] = ""
    paper: ClassVar[str] = "Gao et al., ICCV 2017"
    tasks: ClassVar[tuple[str, ...]] = ("grounding",)
    answers: ClassVar[str] = "SVMR"
    primary: ClassVar[str] = "r1@0.5"
    late: ClassVar[frozenset[str]] = MomentMetric.late | {"mean", "digits", "over"}

    iou: tuple[float, ...] = (0.3, 0.5, 0.7)
    cmp: Literal[">=", ">"] = ">="
    order: Literal["file", "score"] = "file"
    reader: str = "fabula"
    mean: Literal["no", "yes"] = "no"
    digits: Literal["float64", "mixed"] = "float64"
    over: Literal["queries", "sources"] = "queries"

    def names(self) -> tuple[str, ...]:
        return (*(["r1"] if self.mean == "yes" else []), *(f"r1@{show(t)}" for t in self.iou), "miou")

    def units(self, block: Block) -> Columns:
        best = first_iou(block, self.order, single_iou if self.digits == "mixed" else hull_iou)
        over = {f"r1@{show(t)}": best >= t if self.cmp == ">=" else best > t for t in self.iou}
        out = {name: hit.astype(np.float64) for name, hit in over.items()}
        if self.mean == "yes":
            out["r1"] = np.mean(list(out.values()), axis=0)
        return out | {"miou": best}


def first_iou(
    block: Block, order: str, measure: Callable[[Floats, Floats], Floats] = hull_iou, windows: Floats | None = None
) -> Floats:
    """IoU of each query's first answer with the window it fits best; 0 without an answer, or in another video. [Q]"""
    at, _ = block.ranked(order, 1, right=True)
    of = block.of[at]
    found = measure(block.spans[at][:, None], (block.windows()[0] if windows is None else windows)[of])
    best = np.zeros(len(block))
    best[of] = np.where(np.isnan(found), 0.0, found).max(axis=1, initial=0.0)
    return best
