"""ROUGE_L (Lin, 2004): longest common subsequence, F with β = 1.2; equation in text/rouge.py. Mean over items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from fabula.data.stories import Item
from fabula.metrics.base import Array
from fabula.metrics.captions.base import CaptionMetric, place_items
from fabula.text import rouge


@dataclass(frozen=True, kw_only=True)
class Metric(CaptionMetric):
    name: ClassVar[str] = "ROUGE_L"
    perfect_score: ClassVar[str] = ""
    paper: ClassVar[str] = "Lin, WS 2004"

    def tabulate(self, items: Sequence[Item]) -> Mapping[str, Array]:
        return {"value": rouge.score_pairs(place_items(items))}
