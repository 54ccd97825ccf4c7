"""Mean Jaccard of ProcNets (Zhou et al., AAAI 2018): intersection over the length of the *prediction*.

mJaccard = 1/|G| Σ_g max_p |g ∩ p| / |p|        mean over videos

The denominator is what the published code divides by; short predictions are rewarded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fabula.data.stories import join_spans
from fabula.metrics.base import Array
from fabula.metrics.stories.base import TOP_RULE, Pair, StoryMetric, mean_each
from fabula.pair.grid import Cells, Grid
from fabula.pair.tiou import endless, shared


@dataclass(frozen=True, kw_only=True)
class Metric(StoryMetric):
    name: ClassVar[str] = "mJaccard"
    perfect_score: ClassVar[str] = ""
    paper: ClassVar[str] = "Zhou et al., AAAI 2018"
    rules: ClassVar[Mapping[str, str]] = {"top=none": "all predictions count", "top": TOP_RULE}
    late: ClassVar[frozenset[str]] = frozenset({"top"})

    top: int | None = None  # only the N most confident predictions count

    def many(self, pairs: Sequence[Pair], ctx: object) -> dict[str, Array]:
        best = np.concatenate([grid.best(self.shares(grid)) for grid in self.tiles(pairs)])  # [ΣG]
        return {"value": mean_each(best, self.sizes(pairs)[0])}

    @endless
    def shares(self, grid: Grid) -> Cells:
        """How much of each prediction lies within each reference. [C]"""
        g, p = join_spans(grid.refs)[grid.gold], join_spans(grid.preds)[grid.guess]  # [C, 2]
        inter = np.where(self.ious(grid) > 0, shared(g, p), 0.0)
        return np.divide(inter, p[:, 1] - p[:, 0] + self.eps, out=np.zeros_like(inter), where=inter > 0)
