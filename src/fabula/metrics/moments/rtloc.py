"""RTLoc (Cho et al., PerceptionLM, 2025): one window per query, in frames; how many of four thresholds it exceeds.

IoU    = inter / (min(hull, sum of lengths) + ε), reversed windows put forward
recall = share of τ ∈ {.3, .5, .7, .9} that IoU exceeds; one window against one, so that precision is the same number

frames   exact: reference windows keep their place between two frames · truncated: each end is cut to a whole one
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.core.errors import SpecError
from fabula.core.spec import show
from fabula.metrics.moments.base import Block, Columns, Floats, MomentMetric
from fabula.metrics.moments.grounding import first_iou
from fabula.pair.tiou import forward, overlap


@dataclass(frozen=True, kw_only=True)
class Metric(MomentMetric):
    name: ClassVar[str] = "RTLoc"
    perfect_score: ClassVar[str] = ""
    paper: ClassVar[str] = "Cho et al., PerceptionLM, 2025"
    tasks: ClassVar[tuple[str, ...]] = ()  # where it is asked for
    answers: ClassVar[str] = "SVMR"
    rules: ClassVar[Mapping[str, str]] = {
        "frames=exact": "reference windows keep their place between two frames",
        "frames=truncated": "the ends of reference windows are cut to whole frames, each alone",
        "segments=checked": "reversed windows match nothing",
        "segments=swap": "the ends of reversed windows are exchanged",
        "eps=0": "nothing is added to unions",
        "eps": "{} is added to every union",
    }

    iou: tuple[float, ...] = (0.3, 0.5, 0.7, 0.9)
    cmp: Literal[">=", ">"] = ">="
    reader: str = "fabula"
    frames: Literal["exact", "truncated"] = "exact"
    segments: Literal["checked", "swap"] = "checked"
    eps: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.iou or self.eps < 0:
            raise SpecError(f"{self.name}: there is at least one threshold, and what is added to a union is 0 or more")

    def names(self) -> tuple[str, ...]:
        return ("recall", "miou", *(f"r1@{show(t)}" for t in self.iou))

    def units(self, block: Block) -> Columns:
        best = first_iou(block, "file", self.measure)
        over = [best >= t if self.cmp == ">=" else best > t for t in self.iou]
        columns: Columns = {f"r1@{show(t)}": hit.astype(np.float64) for t, hit in zip(self.iou, over, strict=True)}
        return {"recall": np.sum(over, axis=0) / len(over), "miou": best, **columns}

    def measure(self, p: Floats, g: Floats) -> Floats:
        """IoU of answers [K, 1, 2] and windows [K, W, 2]. [K, W]"""
        if self.frames == "truncated":
            g = np.trunc(g)
        if self.segments == "swap":
            g, p = forward(g), forward(p)
        return overlap(g, p, self.eps)
