"""Precision and recall at an overlap τ, one to one and in order, as Batra et al. (BMVC 2022) argue for.

C = [IoU > τ];    S = the largest number of pairs with growing indices on both sides;    P = S/|P|, R = S/|G|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.metrics.stories._soda import Soda
from fabula.pair.grid import Cells


@dataclass(frozen=True, kw_only=True)
class Metric(Soda):
    name: ClassVar[str] = "OrderedPRF"
    paper: ClassVar[str] = "Batra et al., BMVC 2022"
    at: ClassVar[str | None] = "tau"

    tau: float = 0.5
    cmp: Literal[">", ">="] = ">"

    def matched_cells(self, iou: Cells, text: Cells | None) -> Cells:
        near = iou > self.tau if self.cmp == ">" else iou >= self.tau
        return near.astype(np.float64)
