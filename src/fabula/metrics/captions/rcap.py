"""RCap (Cho et al., PerceptionLM, 2025): what a judge says of each caption and its reference, the mean over items.

value    the score of the reference that serves the caption best; 0 where no judgement can be read
unread   share of items with a judgement that cannot be read

Every caption is asked about, an empty one too; an item without one is not, and counts 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fabula.core.rows import CROWDED
from fabula.data.stories import Item
from fabula.metrics.base import Array
from fabula.metrics.captions.base import CaptionMetric
from fabula.text import scorer


@dataclass(frozen=True, kw_only=True)
class Metric(CaptionMetric):
    name: ClassVar[str] = "RCap"
    paper: ClassVar[str] = "Cho et al., PerceptionLM, 2025"
    fields: ClassVar[tuple[str, ...]] = ("value", "unread")
    shown: ClassVar[bool] = False
    perfect_score: ClassVar[str] = "where the judge does not find a caption to be its own equal"
    rules: ClassVar[Mapping[str, str]] = {"text": "captions are scored by {}"}

    text: str = "judge:fabula"

    def __post_init__(self) -> None:
        """A judge reads captions as they are written."""
        super().__post_init__()
        if self.uses_llm:
            object.__setattr__(self, "tok", "none")

    def tabulate(self, items: Sequence[Item]) -> Mapping[str, Array]:
        answered = [i for i, item in enumerate(items) if item.candidate is not None]
        blocks = [([items[i].candidate or ""], list(items[i].references)) for i in answered]
        value, unread = np.zeros(len(items)), np.zeros(len(items))
        for i, scores in zip(answered, scorer(self.text).pairs_many(blocks), strict=True):
            unread[i] = np.isnan(scores).sum()
            value[i] = np.where(np.isnan(scores), 0.0, scores).max()
        columns = {"value": value, "unread": (unread > 0).astype(np.float64)}
        return columns | {CROWDED: unread} if unread.any() else columns

    def about(self) -> Mapping[str, str]:
        found = scorer(self.text)
        return {found.name: found.version}
