"""METEOR of dense captions (Krishna et al., ICCV 2017): METEOR 1.5 of the pairs that overlap by τ, mean over τ.

agg: items is the mean of the pairs' scores; corpus is METEOR's aggregate of their statistics, as published evaluators
take it (a video with one long good caption and one short bad one differs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from fabula.core.nouns import Story
from fabula.metrics.base import Row
from fabula.metrics.stories._localised import Localised, Pair, Tokens
from fabula.metrics.stories.base import Stories
from fabula.text import meteor


class Scored:
    """Sentences tokenised once, pairs scored once for all τ."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.segments: dict[Pair, meteor.Segment] = {}

    def score(self, pairs: Sequence[Pair]) -> None:
        new = list({p for p in pairs if p not in self.segments})
        found = meteor.segments([c for c, _ in new], [[r] for _, r in new])
        self.segments |= zip(new, found, strict=True)


@dataclass(frozen=True, kw_only=True)
class Metric(Localised):
    name: ClassVar[str] = "DVC_METEOR"
    label: ClassVar[str] = "METEOR"
    rules: ClassVar[Mapping[str, str]] = {
        "agg=items": "METEOR averages the scores of pairs",
        "agg=corpus": "METEOR aggregates statistics instead of averaging pairs",
    }

    agg: Literal["items", "corpus"] = "items"

    def prepare(self, data: Stories) -> Any:
        return Scored(super().prepare(data))

    def tokens(self, ctx: Scored) -> Tokens:
        return ctx.tokens

    def units(self, pairs: Sequence[tuple[Story, Story]], ctx: Scored) -> list[Row]:
        """All captions of the block at the lowest τ, which has those of the others, scored in one call."""
        ctx.segments = {}
        ctx.score([p for ref, pred in pairs for p in self.caption_pairs(ref, pred, min(self.tiou), ctx.tokens)[0]])
        return super().units(pairs, ctx)

    def video(self, pairs: Sequence[Pair], lost: int, ctx: Scored) -> float:
        ctx.score(pairs)
        segments = [ctx.segments[p] for p in pairs]
        if self.agg == "corpus":
            return meteor.aggregate(segments) * len(pairs) / (len(pairs) + lost) if pairs else 0.0
        return sum(s.score for s in segments) / (len(pairs) + lost)

    def about(self) -> Mapping[str, str]:
        return {"meteor": meteor.SCORER.version}
