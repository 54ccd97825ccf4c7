"""SODA_d (Fujita et al., ECCV 2020), SODA-D of Batra et al. (BMVC 2022): segmentation alone, in order, one to one.

C = IoU;    S = the value of the best ordered matching of C
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fabula.core.nouns import Story
from fabula.match.ordered import ordered
from fabula.metrics._base import Row
from fabula.metrics._soda import Soda


@dataclass(frozen=True, kw_only=True)
class Metric(Soda):
    name: ClassVar[str] = "SODA_d"

    def unit(self, ref: Story, pred: Story, ctx: Any) -> Row:
        S, _ = ordered(self.iou(ref, pred))
        return self.prf(ref, pred, S)
