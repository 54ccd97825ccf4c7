"""Precision and recall at an overlap τ, one to one and in order, as Batra et al. (BMVC 2022) argue for.

C = [IoU > τ];    S = the largest number of pairs with growing indices on both sides;    P = S/|P|, R = S/|G|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from fabula.core.nouns import Story
from fabula.match.ordered import ordered
from fabula.metrics._base import Row
from fabula.metrics._soda import Soda


@dataclass(frozen=True, kw_only=True)
class Metric(Soda):
    name: ClassVar[str] = "OrderedPRF"
    paper: ClassVar[str] = "Batra et al., BMVC 2022"
    at: ClassVar[str | None] = "tau"

    tau: float = 0.5
    cmp: Literal[">", ">="] = ">"

    def unit(self, ref: Story, pred: Story, ctx: Any) -> Row:
        iou = self.iou(ref, pred)  # [G, P]
        S, _ = ordered(iou > self.tau if self.cmp == ">" else iou >= self.tau)
        return self.prf(ref, pred, S)
