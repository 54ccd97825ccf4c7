"""ROUGE_L of dense captions (Krishna et al., ICCV 2017): ROUGE-L of the pairs that overlap by τ, mean over τ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from fabula.metrics.base import Array
from fabula.metrics.stories._families.localised import CaptionPairs, Localised
from fabula.metrics.stories._families.meetings import Meetings
from fabula.text import rouge


@dataclass(frozen=True, kw_only=True)
class Metric(Localised):
    name: ClassVar[str] = "DVC_ROUGE_L"
    label: ClassVar[str] = "ROUGE_L"

    def videos(self, met: Meetings, ctx: Any) -> list[Array]:
        scores = met.once("rouge", lambda: rouge.score_pairs(met.pairs))
        return [met.mean(k, scores[at]) for k, at in enumerate(met.at)]

    def video(self, pairs: CaptionPairs, lost: int, ctx: Any) -> float:
        return sum(score_pair(*pair) for pair in pairs) / (len(pairs) + lost)


@lru_cache(maxsize=1 << 16)  # the τ share their pairs
def score_pair(candidate: str, reference: str) -> float:
    return rouge.score(candidate, [reference])
