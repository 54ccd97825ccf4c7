"""BLEU of dense captions: what the four orders share; statistics summed over the pairs of one video."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from fabula.metrics._bleu import counted
from fabula.metrics._localised import Localised, Pair
from fabula.text import bleu


@dataclass(frozen=True, kw_only=True)
class LocalisedBleu(Localised):
    """BLEU of a video's pairs; with garbage=zero, lost predictions lower it by their share."""

    n: ClassVar[int]

    def video(self, pairs: Sequence[Pair], lost: int, ctx: Any) -> float:
        if not pairs:
            return 0.0
        value = bleu.corpus(counted(c, (r,), None) for c, r in pairs)[self.n - 1]
        return value * len(pairs) / (len(pairs) + lost)
