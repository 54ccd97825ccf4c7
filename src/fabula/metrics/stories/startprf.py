"""Precision and recall of event starts within d seconds (VidChapters: Yang et al., NeurIPS 2023): not one to one.

Precision = |{p : ∃g |s_g − s_p| < d}| / |P|      Recall = |{g : ∃p |s_g − s_p| < d}| / |G|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fabula.data.stories import join_spans
from fabula.metrics.stories._covered import Covered, Hits
from fabula.pair.grid import Grid
from fabula.pair.tiou import endless, sound


@dataclass(frozen=True, kw_only=True)
class Metric(Covered):
    name: ClassVar[str] = "StartPRF"
    paper: ClassVar[str] = "Yang et al., NeurIPS 2023"
    at: ClassVar[str | None] = "within"
    shown: ClassVar[bool] = False

    within: tuple[float, ...] = (5.0,)  # seconds

    def levels(self) -> tuple[float, ...]:
        return self.within

    @endless
    def hits(self, grid: Grid) -> Hits:
        g, p = join_spans(grid.refs)[grid.gold], join_spans(grid.preds)[grid.guess]  # [C, 2]
        apart = np.abs(g[:, 0] - p[:, 0])
        if self.segments == "checked":  # what is no stretch of time matches nothing
            apart = np.where(sound(g) & sound(p), apart, np.inf)
        return lambda d: apart < d
