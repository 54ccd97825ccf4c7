"""Mean Jaccard of ProcNets (Zhou et al., AAAI 2018): intersection over the length of the *prediction*.

mJaccard = 1/|G| Σ_g max_p |g ∩ p| / |p|        mean over videos

The denominator is what the published code divides by; short predictions are rewarded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fabula.core.nouns import Story, join_spans
from fabula.metrics.base import Array, Row
from fabula.metrics.stories.base import Pair, StoryMetric
from fabula.pair.strips import strips
from fabula.pair.tiou import Matrix, endless, intersection, shared


@dataclass(frozen=True, kw_only=True)
class Metric(StoryMetric):
    name: ClassVar[str] = "mJaccard"
    below_one: ClassVar[str] = ""
    paper: ClassVar[str] = "Zhou et al., AAAI 2018"

    @endless
    def many(self, pairs: Sequence[Pair], ctx: Any) -> dict[str, Array]:
        grid = self.grid(pairs)
        g, p = join_spans(grid.refs)[grid.gold], join_spans(grid.preds)[grid.guess]  # [C, 2]
        inter = np.where(self.ious(grid) > 0, shared(g, p), 0.0)
        share = np.divide(inter, p[:, 1] - p[:, 0] + self.eps, out=np.zeros_like(inter), where=inter > 0)
        return {"value": np.array([best.mean() for best in grid.best(share)])}

    def unit(self, ref: Story, pred: Story, ctx: Any) -> Row:
        best = [self.shares(some, pred).max(axis=1, initial=0.0) for some in strips(ref, pred)]
        return {"value": float(np.concatenate(best).mean())}

    @endless
    def shares(self, ref: Story, pred: Story) -> Matrix:
        """How much of each prediction lies within each reference. [G, P]"""
        g, p = ref.spans, pred.spans
        inter = np.where(self.iou(ref, pred) > 0, intersection(g, p), 0.0)
        length = np.broadcast_to(p[:, 1] - p[:, 0] + self.eps, inter.shape)
        return np.divide(inter, length, out=np.zeros_like(inter), where=inter > 0)
