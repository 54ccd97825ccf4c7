"""Para_CIDEr (Park et al., CVPR 2019): CIDEr of a video's sentences read as one paragraph, over the corpus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.metrics import cider
from fabula.metrics._caption import CaptionMetric
from fabula.metrics._paragraph import Paragraph


@dataclass(frozen=True, kw_only=True)
class Metric(Paragraph):
    name: ClassVar[str] = "Para_CIDEr"
    corpus_wide: ClassVar[bool] = True  # document frequencies
    inner: ClassVar[type[CaptionMetric]] = cider.Metric
