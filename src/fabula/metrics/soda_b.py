"""SODA_b (Fujita et al., ECCV 2020): captions summed over the pairs that IoU alone chooses.

C = IoU;    S = Σ caption score over the pairs
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.core.nouns import Story
from fabula.metrics._base import Row
from fabula.metrics._soda import PairSoda
from fabula.pair.captions import Captions


@dataclass(frozen=True, kw_only=True)
class Metric(PairSoda):
    name: ClassVar[str] = "SODA_b"

    def unit(self, ref: Story, pred: Story, ctx: Captions) -> Row:
        return self.prf(ref, pred, self.sum(self.iou(ref, pred), ctx.matrix(ref, pred)))
