"""METEOR of dense captions (Krishna et al., ICCV 2017): METEOR 1.5 of the pairs that overlap by τ, mean over τ.

agg: items is the mean of the pairs' scores; corpus is METEOR's aggregate of their statistics, as published evaluators
take it (a video with one long good caption and one short bad one differs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from fabula.core.nouns import Corpus, Story
from fabula.metrics._localised import Localised, Pair, Tokens, first
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

    def prepare(self, refs: Sequence[Corpus], preds: Corpus) -> Any:
        return Scored(super().prepare(refs, preds))

    def tokens(self, ctx: Scored) -> Tokens:
        return ctx.tokens

    def warm(self, block: Sequence[tuple[Sequence[Story | None], Story | None]], ctx: Scored) -> None:
        """All pairs of the block at the lowest τ, which has those of the others, in one call."""
        ctx.segments = {}
        pairs: list[Pair] = []
        for refs, pred in block:
            for ref in refs:
                if ref is not None and len(ref) and (some := first(pred, self.top)) is not None:
                    pairs += self.paired(ref, some, min(self.tiou), ctx.tokens)[0]
        ctx.score(pairs)

    def video(self, pairs: Sequence[Pair], lost: int, ctx: Scored) -> float:
        ctx.score(pairs)
        segments = [ctx.segments[p] for p in pairs]
        if self.agg == "corpus":
            return meteor.aggregate(segments) * len(pairs) / (len(pairs) + lost) if pairs else 0.0
        return sum(s.score for s in segments) / (len(pairs) + lost)

    def about(self) -> Mapping[str, str]:
        return {"meteor": meteor.SCORER.version}
