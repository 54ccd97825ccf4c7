"""SVMR, single video moment retrieval (Lei et al., ECCV 2020): the right stretch, the video being known.

R@k, τ = share of queries with IoU ≥ τ among the first k answers of the right video; answers of others are taken out,
         after the list was cut to its first `top`
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.metrics.moments._recall import MomentRecall


@dataclass(frozen=True, kw_only=True)
class Metric(MomentRecall):
    name: ClassVar[str] = "SVMR"
    answers: ClassVar[str] = "SVMR"
    own_video_only: ClassVar[bool] = True
