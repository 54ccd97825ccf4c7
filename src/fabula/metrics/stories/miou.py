"""Mean IoU: each reference takes its best prediction, which may serve many (Zhou et al., AAAI 2018).

mIoU = 1/|G| Σ_g max_p IoU(g, p)        mean over videos
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fabula.core.nouns import Story
from fabula.metrics.base import Array, Row
from fabula.metrics.stories.base import Pair, StoryMetric
from fabula.pair.strips import strips


@dataclass(frozen=True, kw_only=True)
class Metric(StoryMetric):
    name: ClassVar[str] = "mIoU"
    paper: ClassVar[str] = "Zhou et al., AAAI 2018"
    below_one: ClassVar[str] = ""

    def many(self, pairs: Sequence[Pair], ctx: Any) -> dict[str, Array]:
        grid = self.grid(pairs)
        return {"value": np.array([best.mean() for best in grid.best(self.ious(grid))])}

    def unit(self, ref: Story, pred: Story, ctx: Any) -> Row:
        best = [self.iou(some, pred).max(axis=1, initial=0.0) for some in strips(ref, pred)]
        return {"value": float(np.concatenate(best).mean())}
