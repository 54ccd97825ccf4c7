"""BLEU_1 of dense captions (Krishna et al., ICCV 2017): BLEU_1 of the pairs that overlap by τ, mean over τ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.metrics._localised_bleu import LocalisedBleu


@dataclass(frozen=True, kw_only=True)
class Metric(LocalisedBleu):
    name: ClassVar[str] = "DVC_BLEU_1"
    label: ClassVar[str] = "BLEU_1"
    n: ClassVar[int] = 1
    shown: ClassVar[bool] = False
