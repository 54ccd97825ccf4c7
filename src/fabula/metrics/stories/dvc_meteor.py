"""METEOR of dense captions (Krishna et al., ICCV 2017): METEOR 1.5 of the pairs that overlap by τ, mean over τ.

agg: items is the mean of the pairs' scores; corpus is METEOR's aggregate of their statistics, as published evaluators
take it (a video with one long good caption and one short bad one differs).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from fabula.core.nouns import Story
from fabula.core.rows import CROWDED
from fabula.metrics.base import Array, Row
from fabula.metrics.stories._families.localised import PAIRS, CaptionPairs, Localised, Pair, chunks
from fabula.metrics.stories._families.meetings import Meetings
from fabula.metrics.stories.base import Stories, Tokens
from fabula.text import meteor


class Scored:
    """Sentences tokenised once, pairs scored once for all τ."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.segments: dict[Pair, meteor.Segment] = {}
        self.crowded: set[Pair] = set()  # of one video, beyond METEOR

    def score(self, pairs: Sequence[Pair]) -> None:
        new = list({p for p in pairs if p not in self.segments})
        found = meteor.segments([c for c, _ in new], [[r] for _, r in new], crowded="zero")
        self.segments |= zip(new, found, strict=True)

    def walk(self, pairs: CaptionPairs) -> Iterator[meteor.Segment]:
        """The segment of each pair; those of a video with too many are forgotten on the way."""
        for some in chunks(pairs):
            self.score(some)
            for pair in some:
                segment = self.segments[pair]
                if segment.crowded:
                    self.crowded.add(pair)
                yield segment
            if len(self.segments) > 2 * PAIRS:
                self.segments = {}


def score_pairs(met: Meetings) -> meteor.Table:
    """Of the distinct pairs that meet; statistics as small as they fit, for they may be kept for many rules."""

    def make() -> meteor.Table:
        found = meteor.score_pairs(met.pairs)
        most = found.stats.max(initial=0.0)
        small = np.uint8 if most <= 255 else np.uint16 if most <= 65535 else np.float64
        return found._replace(stats=found.stats.astype(small))  # counts, all of them

    return met.once("meteor", make)


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

    def videos(self, met: Meetings, ctx: Scored) -> list[Array]:
        found = score_pairs(met)
        if self.agg == "items":
            return [met.mean(k, found.scores[at]) for k, at in enumerate(met.at)]
        stats = meteor.without_perfect_chunks(found.stats.astype(np.float64))
        return [met.spread(k, meteor.scores_of(met.total(k, stats))) for k in range(len(met.at))]

    def crowded(self, met: Meetings) -> Array | None:
        beyond = score_pairs(met).crowded > 0
        return met.distinct(beyond) if beyond.any() else None

    def unit(self, ref: Story, pred: Story, ctx: Scored) -> Row:
        ctx.crowded = set()
        row = super().unit(ref, pred, ctx)
        return row | {CROWDED: float(len(ctx.crowded))} if ctx.crowded else row

    def video(self, pairs: CaptionPairs, lost: int, ctx: Scored) -> float:
        segments = ctx.walk(pairs)
        if self.agg == "corpus":
            return meteor.aggregate(segments) * len(pairs) / (len(pairs) + lost) if pairs else 0.0
        return sum(s.score for s in segments) / (len(pairs) + lost)

    def about(self) -> Mapping[str, str]:
        return {"meteor": meteor.SCORER.version}
