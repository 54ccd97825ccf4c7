"""Mean IoU: each reference takes its best prediction, which may serve many (Zhou et al., AAAI 2018).

mIoU = 1/|G| Σ_g max_p IoU(g, p)        mean over videos
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fabula.metrics.base import Array
from fabula.metrics.stories.base import Pair, StoryMetric, mean_each


@dataclass(frozen=True, kw_only=True)
class Metric(StoryMetric):
    name: ClassVar[str] = "mIoU"
    paper: ClassVar[str] = "Zhou et al., AAAI 2018"
    perfect_score: ClassVar[str] = ""

    def many(self, pairs: Sequence[Pair], ctx: object) -> dict[str, Array]:
        best = np.concatenate([grid.best(self.ious(grid)) for grid in self.tiles(pairs)])  # [ΣG]
        return {"value": mean_each(best, self.sizes(pairs)[0])}
