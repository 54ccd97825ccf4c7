"""SODA_b (Fujita et al., ECCV 2020): captions summed over the pairs that IoU alone chooses.

C = IoU;    S = Σ caption score over the pairs
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.metrics.base import Array
from fabula.metrics.stories._soda import PairSoda
from fabula.pair.captions import Captions
from fabula.pair.grid import Grid


@dataclass(frozen=True, kw_only=True)
class Metric(PairSoda):
    name: ClassVar[str] = "SODA_b"

    def matched(self, grid: Grid, ctx: Captions) -> Array:
        chosen = self.choose(self.ious(grid), grid)
        return grid.sum(ctx.scores(grid, chosen), chosen)
