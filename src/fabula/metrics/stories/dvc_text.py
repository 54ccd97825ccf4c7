"""Any caption scorer over dense captions (after Krishna et al., ICCV 2017): the mean of the pairs that overlap by τ.

DVC_Text(text=embed_signed:minilm) is E.T. Bench's SentSim (Liu et al., NeurIPS 2024). A pair is scored once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fabula.metrics.base import Array
from fabula.metrics.stories._families.localised import CaptionPairs, Localised
from fabula.metrics.stories._families.meetings import Meetings
from fabula.text import scorer


@dataclass(frozen=True, kw_only=True)
class Metric(Localised):
    name: ClassVar[str] = "DVC_Text"
    shown: ClassVar[bool] = False
    rules: ClassVar[Mapping[str, str]] = {"text": "captions are compared by {}"}

    text: str = "rouge"

    def videos(self, met: Meetings, ctx: Any) -> list[Array]:
        pairs = met.pairs
        both = list(zip(pairs.candidates.tolist(), pairs.references.tolist(), strict=True))
        scores = self.score([(pairs.texts[c], pairs.texts[r]) for c, r in both])
        return [met.mean(k, scores[at]) for k, at in enumerate(met.at)]

    def video(self, pairs: CaptionPairs, lost: int, ctx: Any) -> float:
        return float(self.score(list(pairs)).sum()) / (len(pairs) + lost)

    def score(self, pairs: list[tuple[str, str]]) -> Array:
        """[K]; a pair that is beyond the scorer has 0."""
        found = scorer(self.text).pairs_many([([c], [r]) for c, r in pairs])
        return np.nan_to_num(np.array([float(cell[0, 0]) for cell in found], dtype=np.float64), nan=0.0)

    def about(self) -> Mapping[str, str]:
        made = scorer(self.text)
        return {made.name: made.version}
