"""Para_ROUGE_L (Park et al., CVPR 2019): ROUGE_L of a video's sentences read as one paragraph, over the corpus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.metrics import rouge_l
from fabula.metrics._caption import CaptionMetric
from fabula.metrics._paragraph import Paragraph


@dataclass(frozen=True, kw_only=True)
class Metric(Paragraph):
    name: ClassVar[str] = "Para_ROUGE_L"
    inner: ClassVar[type[CaptionMetric]] = rouge_l.Metric
