"""HL_mAP, highlight detection (QVHighlights: Lei et al., NeurIPS 2021): average precision of the clips' scores.

AP per query and annotator, clips in order of score, those of one score together: P_i and R_i after the i-th score

AP = Σ_i (R_i − R_{i−1}) · max_{j ≥ i} P_j        no highlight: 0 · nothing but highlights: 1

steps  recall: as above · scores: the plain mean of max P over the scores at which recall rises, as published: it
       counts several highlights of one score once
Clips beyond the video's end are ignored; clips without a score have 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.metrics.moments._highlights import LEVELS, Highlights, Marked
from fabula.metrics.moments.base import Floats
from fabula.metrics.precision import precision_of_clips, precision_of_ties


@dataclass(frozen=True, kw_only=True)
class Metric(Highlights):
    name: ClassVar[str] = "HL_mAP"
    rules: ClassVar[Mapping[str, str]] = {
        "steps=recall": "each highlight counts, also where several have one score",
        "steps=scores": "several highlights of one score count once",
    }

    steps: Literal["recall", "scores"] = "recall"

    def unit(self, positive: Floats, saliency: Floats) -> float:
        scores = np.zeros(len(positive))
        n = min(len(scores), len(saliency))
        scores[:n] = saliency[:n]
        return float(precision_of_ties(positive, scores, self.steps).mean())

    def many(self, marked: Marked) -> Floats:
        return precision_of_clips(marked.marks, marked.scores(), marked.counts, list(LEVELS.values()), self.steps)
