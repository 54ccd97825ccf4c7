"""Precision and recall at an overlap τ (Krishna et al., ICCV 2017; Zhou et al., AAAI 2018): not one to one.

Precision = |{p : ∃g IoU(g, p) > τ}| / |P|      Recall = |{g : ∃p IoU(g, p) > τ}| / |G|

One prediction may cover many references and the other way round: OrderedPRF is the stricter reading.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from fabula.metrics.stories._covered import Covered, Hits
from fabula.pair.grid import Grid


@dataclass(frozen=True, kw_only=True)
class Metric(Covered):
    name: ClassVar[str] = "PRF"
    paper: ClassVar[str] = "Krishna et al., ICCV 2017"
    at: ClassVar[str | None] = "tau"

    tau: tuple[float, ...] = (0.5,)
    cmp: Literal[">", ">="] = ">"

    def levels(self) -> tuple[float, ...]:
        return self.tau

    def hits(self, grid: Grid) -> Hits:
        iou = self.ious(grid)
        return lambda tau: iou > tau if self.cmp == ">" else iou >= tau
