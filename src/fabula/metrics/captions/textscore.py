"""TextScore: the mean over items of any caption scorer: a judge (Zheng et al., NeurIPS 2023), embed, bertscore.

x_i = best or mean over the references r of  score(candidate_i, r);    an item that says nothing has 0, and asks nobody

    TextScore(text=judge:fabula)    TextScore(text=embed:minilm,tok=none,refs=mean)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.core.rows import CROWDED
from fabula.data.stories import Item
from fabula.metrics.base import Array
from fabula.metrics.captions.base import CaptionMetric, split_items
from fabula.text import Scorer, scorer


@dataclass(frozen=True, kw_only=True)
class Metric(CaptionMetric):
    name: ClassVar[str] = "TextScore"
    paper: ClassVar[str] = "Zheng et al., NeurIPS 2023"
    shown: ClassVar[bool] = False
    perfect_score: ClassVar[str] = ""
    rules: ClassVar[Mapping[str, str]] = {
        "refs=best": "of several references the one counts that fits best",
        "refs=mean": "the score is the mean over an item's references",
    }

    text: str = "rouge"
    refs: Literal["best", "mean"] = "best"

    def __post_init__(self) -> None:
        """A judge reads captions as they are written."""
        super().__post_init__()
        if self.uses_llm:
            object.__setattr__(self, "tok", "none")

    @property
    def scorer(self) -> Scorer:
        return scorer(self.text)

    def tabulate(self, items: Sequence[Item]) -> Mapping[str, Array]:
        candidates, references = split_items(items)
        blocks = [([c], r) for c, r in zip(candidates, references, strict=True)]
        wanted = np.array([bool(c.strip()) for c, refs in zip(candidates, references, strict=True) for _ in refs], bool)
        values, unread = np.zeros(len(items)), np.zeros(len(items))
        for i, (found, candidate) in enumerate(zip(self.scorer.pairs_many(blocks, wanted), candidates, strict=True)):
            if candidate.strip():
                unread[i] = np.isnan(found).sum()
                scores = np.nan_to_num(found[0], nan=0.0)
                values[i] = scores.max() if self.refs == "best" else scores.mean()
        return {"value": values} | ({CROWDED: unread} if unread.any() else {})

    def about(self) -> Mapping[str, str]:
        used = self.scorer
        return {used.name: used.version}
