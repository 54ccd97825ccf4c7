"""Mean IoU: each reference takes its best prediction, which may serve many (Zhou et al., AAAI 2018).

mIoU = 1/|G| Σ_g max_p IoU(g, p)        mean over videos
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fabula.metrics.base import Array
from fabula.metrics.stories.base import TOP_RULE, Pair, StoryMetric, mean_each


@dataclass(frozen=True, kw_only=True)
class Metric(StoryMetric):
    name: ClassVar[str] = "mIoU"
    paper: ClassVar[str] = "Zhou et al., AAAI 2018"
    perfect_score: ClassVar[str] = ""
    rules: ClassVar[Mapping[str, str]] = {"top=none": "all predictions count", "top": TOP_RULE}
    late: ClassVar[frozenset[str]] = frozenset({"top"})

    top: int | None = None  # only the N most confident predictions count

    def many(self, pairs: Sequence[Pair], ctx: object) -> dict[str, Array]:
        best = np.concatenate([grid.best(self.ious(grid)) for grid in self.tiles(pairs)])  # [ΣG]
        return {"value": mean_each(best, self.sizes(pairs)[0])}
