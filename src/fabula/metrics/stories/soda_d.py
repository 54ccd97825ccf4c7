"""SODA_d (Fujita et al., ECCV 2020), SODA-D of Batra et al. (BMVC 2022): segmentation alone, in order, one to one.

C = IoU;    S = the value of the best ordered matching of C
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fabula.match.ordered import ordered_many
from fabula.metrics.base import Array
from fabula.metrics.stories._soda import Soda
from fabula.pair.grid import Grid


@dataclass(frozen=True, kw_only=True)
class Metric(Soda):
    name: ClassVar[str] = "SODA_d"
    factors: ClassVar[bool] = True

    def matched(self, grid: Grid, ctx: Any) -> Array:
        return ordered_many(self.ious(grid), grid.shapes)[0]
