"""Para_METEOR (Park et al., CVPR 2019): METEOR of a video's sentences read as one paragraph, over the corpus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.metrics import meteor
from fabula.metrics._caption import CaptionMetric
from fabula.metrics._paragraph import Paragraph


@dataclass(frozen=True, kw_only=True)
class Metric(Paragraph):
    name: ClassVar[str] = "Para_METEOR"
    inner: ClassVar[type[CaptionMetric]] = meteor.Metric
