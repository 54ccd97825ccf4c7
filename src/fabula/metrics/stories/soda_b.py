"""SODA_b (Fujita et al., ECCV 2020): captions summed over the pairs that IoU alone chooses.

C = IoU;    S = Σ caption score over the pairs
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.metrics.base import Array
from fabula.metrics.stories._soda import PairSoda, Sheet


@dataclass(frozen=True, kw_only=True)
class Metric(PairSoda):
    name: ClassVar[str] = "SODA_b"

    def matched(self, sheet: Sheet) -> Array:
        chosen = self.choose(sheet)
        return sheet.sum(sheet.texts(chosen), chosen)
