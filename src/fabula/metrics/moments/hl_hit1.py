"""HL_Hit1, highlight detection (QVHighlights: Lei et al., NeurIPS 2021): is the best-scored clip a highlight?

HIT@1 = share of queries whose best-scored clip is a highlight for at least one annotator; on ties the first clip
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fabula.metrics.moments._highlights import LEVELS, Highlights, Marked
from fabula.metrics.moments.base import Floats


@dataclass(frozen=True, kw_only=True)
class Metric(Highlights):
    name: ClassVar[str] = "HL_Hit1"

    def unit(self, positive: Floats, saliency: Floats) -> float:
        best = int(saliency.argmax())
        return float(positive[best].max()) if best < len(positive) else 0.0

    def many(self, marked: Marked) -> Floats:
        best = np.array([int(saliency.argmax()) for saliency in marked.saliency], dtype=np.int64)
        inside = best < marked.counts
        marks = marked.marks[marked.ends - marked.counts + np.where(inside, best, 0)].max(axis=1)  # [Q]
        found: Floats = ((marks[:, None] >= np.array(list(LEVELS.values()))) & inside[:, None]).astype(np.float64)
        return found
