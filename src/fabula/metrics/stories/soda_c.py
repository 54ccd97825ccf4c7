"""SODA_c (Fujita et al., ECCV 2020): where and what at once, the variant papers report.

C = IoU × caption score;    S = the value of the best ordered matching of C
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.metrics.stories._soda import CaptionSoda
from fabula.pair.grid import Cells


@dataclass(frozen=True, kw_only=True)
class Metric(CaptionSoda):
    name: ClassVar[str] = "SODA_c"
    factors: ClassVar[bool] = True
    reads_cells: ClassVar[bool] = True

    def matched_cells(self, iou: Cells, text: Cells | None) -> Cells:
        return iou if text is None else iou * text
