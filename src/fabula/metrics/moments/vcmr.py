"""VCMR, video corpus moment retrieval (Lei et al., ECCV 2020): the right stretch of the right video, among the first k.

R@k, τ = share of queries with an answer of the right video and IoU ≥ τ among the first k answers
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.metrics.moments._recall import MomentRecall


@dataclass(frozen=True, kw_only=True)
class Metric(MomentRecall):
    name: ClassVar[str] = "VCMR"
    answers: ClassVar[str] = "VCMR"
