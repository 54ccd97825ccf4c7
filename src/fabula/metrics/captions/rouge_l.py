"""ROUGE_L (Lin, 2004): longest common subsequence, F with β = 1.2; equation in text/rouge.py. Mean over items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from fabula.core.nouns import Item
from fabula.metrics.captions.base import CaptionMetric
from fabula.text import rouge


@dataclass(frozen=True, kw_only=True)
class Metric(CaptionMetric):
    name: ClassVar[str] = "ROUGE_L"
    below_one: ClassVar[str] = ""
    paper: ClassVar[str] = "Lin, WS 2004"

    def units(self, items: Sequence[Item]) -> list[dict[str, Any]]:
        return [{"value": rouge.score(i.candidate or "", i.references, item=i.id)} for i in items]
