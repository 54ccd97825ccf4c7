"""HL_Hit1, highlight detection (QVHighlights: Lei et al., NeurIPS 2021): is the best-scored clip a highlight?

HIT@1 = share of queries whose best-scored clip is a highlight for at least one annotator; on ties the first clip
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.metrics.moments._highlights import Highlights
from fabula.metrics.moments.base import Floats


@dataclass(frozen=True, kw_only=True)
class Metric(Highlights):
    name: ClassVar[str] = "HL_Hit1"

    def unit(self, positive: Floats, saliency: Floats) -> float:
        best = int(saliency.argmax())
        return float(positive[best].max()) if best < len(positive) else 0.0
