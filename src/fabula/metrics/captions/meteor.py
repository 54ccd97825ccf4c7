"""METEOR 1.5 (Denkowski & Lavie, WMT 2014), to the jar's digit; equation in text/meteor.

agg      corpus scores the summed statistics, as the jar and COCO do; mean averages the items' scores. They differ.
passing  direct: captions reach METEOR as they are · pipe: as pycocoevalcap's line protocol hands them over
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from fabula.core.nouns import Item
from fabula.core.rows import CROWDED, Rows
from fabula.metrics.base import Array, Values
from fabula.metrics.captions.base import CaptionMetric
from fabula.text import meteor


@dataclass(frozen=True, kw_only=True)
class Metric(CaptionMetric):
    name: ClassVar[str] = "METEOR"
    below_one: ClassVar[str] = ""
    paper: ClassVar[str] = "Denkowski & Lavie, WMT 2014"
    late: ClassVar[frozenset[str]] = frozenset({"passing"})
    rules: ClassVar[Mapping[str, str]] = {
        "agg=corpus": "METEOR is that of the summed statistics",
        "agg=mean": "METEOR is the mean over items",
        "passing=direct": "captions reach METEOR as they are",
        "passing=pipe": "captions reach METEOR by a line protocol: candidates lose '|||' and double blanks, references "
        "are cut at '|||'",
    }

    agg: Literal["corpus", "mean"] = "corpus"
    passing: Literal["direct", "pipe"] = "direct"

    def units(self, items: Sequence[Item]) -> list[dict[str, Any]]:
        texts = [(i.candidate or "", list(i.references)) for i in items]
        if self.passing == "pipe":
            texts = [meteor.as_pycocoevalcap(*pair) for pair in texts]
        candidates, references = [c for c, _ in texts], [r for _, r in texts]
        segments = meteor.segments(candidates, references, crowded="zero")
        return [{"value": s.score, "stats": s.stats} | ({CROWDED: s.crowded} if s.crowded else {}) for s in segments]

    @property
    def is_mean(self) -> bool:
        return self.agg == "mean"

    def combine(self, rows: Rows) -> Values:
        if self.is_mean:
            return super().combine(rows)
        segments = (
            meteor.Segment(tuple(map(float, stats)), float(value))
            for stats, value in zip(rows["stats"], rows["value"], strict=True)
        )
        return {"value": meteor.aggregate(segments)}

    def sums(self, rows: Rows) -> Array | None:
        """As text/meteor.aggregate sums them: a perfect segment adds no chunk."""
        if self.is_mean:
            return super().sums(rows)
        stats = rows["stats"].copy()
        stats[[meteor.is_perfect(tuple(row)) for row in stats.tolist()], 20] = 0.0
        return stats

    def of_sums(self, totals: Array) -> Array:
        if self.is_mean:
            return super().of_sums(totals)
        return np.array([meteor.score_of(tuple(total)) for total in totals.tolist()])

    def about(self) -> Mapping[str, str]:
        return {"meteor": meteor.SCORER.version}
