"""Precision and recall of event starts within d seconds (VidChapters: Yang et al., NeurIPS 2023): not one to one.

Precision = |{p : ∃g |s_g − s_p| < d}| / |P|      Recall = |{g : ∃p |s_g − s_p| < d}| / |G|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fabula.core.nouns import Story
from fabula.metrics.stories._covered import Covered, Hits
from fabula.pair.tiou import endless


@dataclass(frozen=True, kw_only=True)
class Metric(Covered):
    name: ClassVar[str] = "StartPRF"
    paper: ClassVar[str] = "Yang et al., NeurIPS 2023"
    at: ClassVar[str | None] = "within"
    shown: ClassVar[bool] = False

    within: tuple[float, ...] = (5.0,)  # seconds

    def levels(self) -> tuple[float, ...]:
        return self.within

    @endless
    def hits(self, ref: Story, pred: Story) -> Hits:
        apart = np.abs(ref.spans[:, None, 0] - pred.spans[None, :, 0])  # [G, P]
        if self.segments == "checked":  # what is no stretch of time matches nothing
            g, p = (np.array([e.segment.sound for e in story.events], dtype=bool) for story in (ref, pred))
            apart = np.where(g[:, None] & p[None, :], apart, np.inf)
        return lambda d: apart < d
