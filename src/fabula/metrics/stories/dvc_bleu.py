"""BLEU of dense captions (Krishna et al., ICCV 2017): DVC_BLEU_1 … 4 of the pairs that overlap by τ, mean over τ.

Statistics are summed over the pairs of one video; with garbage=zero, lost predictions lower its BLEU by their share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fabula.metrics.base import Array
from fabula.metrics.stories._families.localised import CaptionPairs, Localised
from fabula.metrics.stories._families.meetings import Meetings
from fabula.text import bleu


def score_videos(met: Meetings) -> list[Array]:
    """BLEU-1..4 of each video's pairs at each τ. [N, 4] each"""
    stats = bleu.stats_pairs(met.pairs)
    return [bleu.segments(met.total(k, stats)) for k in range(len(met.at))]


@dataclass(frozen=True, kw_only=True)
class LocalisedBleu(Localised):
    """BLEU up to n-grams of order n."""

    n: ClassVar[int]
    shown: ClassVar[bool] = False

    def videos(self, met: Meetings, ctx: Any) -> list[Array]:
        orders = met.once("bleu", lambda: score_videos(met))
        return [met.spread(k, values[:, self.n - 1]) for k, values in enumerate(orders)]

    def video(self, pairs: CaptionPairs, lost: int, ctx: Any) -> float:
        if not pairs:
            return 0.0
        value = bleu.corpus(bleu.stats(c, [r]) for c, r in pairs)[self.n - 1]
        return value * len(pairs) / (len(pairs) + lost)


@dataclass(frozen=True, kw_only=True)
class Bleu1(LocalisedBleu):
    name: ClassVar[str] = "DVC_BLEU_1"
    label: ClassVar[str] = "BLEU_1"
    n: ClassVar[int] = 1


@dataclass(frozen=True, kw_only=True)
class Bleu2(LocalisedBleu):
    name: ClassVar[str] = "DVC_BLEU_2"
    label: ClassVar[str] = "BLEU_2"
    n: ClassVar[int] = 2


@dataclass(frozen=True, kw_only=True)
class Bleu3(LocalisedBleu):
    name: ClassVar[str] = "DVC_BLEU_3"
    label: ClassVar[str] = "BLEU_3"
    n: ClassVar[int] = 3


@dataclass(frozen=True, kw_only=True)
class Bleu4(LocalisedBleu):
    name: ClassVar[str] = "DVC_BLEU_4"
    label: ClassVar[str] = "BLEU_4"
    n: ClassVar[int] = 4
    shown: ClassVar[bool] = True


METRICS = (Bleu1, Bleu2, Bleu3, Bleu4)
