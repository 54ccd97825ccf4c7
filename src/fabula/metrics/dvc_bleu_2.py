"""BLEU_2 of dense captions (Krishna et al., ICCV 2017): BLEU_2 of the pairs that overlap by τ, mean over τ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.metrics._localised_bleu import LocalisedBleu


@dataclass(frozen=True, kw_only=True)
class Metric(LocalisedBleu):
    name: ClassVar[str] = "DVC_BLEU_2"
    label: ClassVar[str] = "BLEU_2"
    n: ClassVar[int] = 2
    shown: ClassVar[bool] = False
