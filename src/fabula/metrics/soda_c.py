"""SODA_c (Fujita et al., ECCV 2020): where and what at once, the variant papers report.

C = IoU × caption score;    S = the value of the best ordered matching of C
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.core.nouns import Story
from fabula.match.ordered import ordered
from fabula.metrics._base import Row
from fabula.metrics._soda import CaptionSoda
from fabula.pair.captions import Captions


@dataclass(frozen=True, kw_only=True)
class Metric(CaptionSoda):
    name: ClassVar[str] = "SODA_c"

    def unit(self, ref: Story, pred: Story, ctx: Captions) -> Row:
        S, _ = ordered(self.iou(ref, pred) * ctx.matrix(ref, pred))
        return self.prf(ref, pred, S)
