"""BLEU_4 (Papineni et al., ACL 2002): n-gram precision up to order 4 and brevity penalty; equation in text/bleu.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.metrics._bleu import Bleu


@dataclass(frozen=True, kw_only=True)
class Metric(Bleu):
    name: ClassVar[str] = "BLEU_4"
    n: ClassVar[int] = 4
