"""METEOR 1.5 (Denkowski & Lavie, WMT 2014), to the jar's digit; equation in text/meteor.

agg      corpus scores the summed statistics, as the jar and COCO do; mean averages the items' scores. They differ.
passing  direct: captions reach METEOR as they are · pipe: as pycocoevalcap's line protocol hands them over
ties     whose statistics an item brings to the sum, of references with one score · words: of the first in the order of
         their words, so that no number depends on the order of a file · file: of the first of the file, as the jar
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.core.rows import CROWDED, Rows
from fabula.data.stories import Item
from fabula.metrics.base import Array, Values
from fabula.metrics.captions.base import CaptionMetric, split_items
from fabula.text import meteor


@dataclass(frozen=True, kw_only=True)
class Metric(CaptionMetric):
    name: ClassVar[str] = "METEOR"
    perfect_score: ClassVar[str] = ""
    paper: ClassVar[str] = "Denkowski & Lavie, WMT 2014"
    late: ClassVar[frozenset[str]] = CaptionMetric.late | {"passing", "ties"}
    rules: ClassVar[Mapping[str, str]] = {
        "agg=corpus": "METEOR is that of the summed statistics",
        "agg=mean": "METEOR is the mean over items",
        "passing=direct": "captions reach METEOR as they are",
        "passing=pipe": "captions reach METEOR by a line protocol: candidates lose '|||' and double blanks, references "
        "are cut at '|||'",
        "ties=words": "of references with one score the first in the order of words brings its statistics",
        "ties=file": "of references with one score the first of the file brings its statistics",
    }

    agg: Literal["corpus", "mean"] = "corpus"
    passing: Literal["direct", "pipe"] = "direct"
    ties: Literal["words", "file"] = "words"

    def tabulate(self, items: Sequence[Item]) -> Mapping[str, Array]:
        candidates, references = split_items(items)
        if self.ties == "words":
            references = [sorted(texts) if len(texts) > 1 else texts for texts in references]
        if self.passing == "pipe":
            passed = [meteor.as_pycocoevalcap(*pair) for pair in zip(candidates, references, strict=True)]
            candidates, references = [c for c, _ in passed], [r for _, r in passed]
        found = meteor.table(candidates, references, crowded="zero")
        columns = {"value": found.scores, "stats": found.stats}
        return columns | {CROWDED: found.crowded.astype(np.float64)} if found.crowded.any() else columns

    @property
    def is_mean(self) -> bool:
        return self.agg == "mean"

    def combine(self, rows: Rows) -> Values:
        if self.is_mean:
            return super().combine(rows)
        summed = meteor.without_perfect_chunks(rows["stats"]).sum(axis=0, keepdims=True)
        return {"value": float(meteor.scores_of(summed)[0])}

    def sums(self, rows: Rows) -> Array | None:
        """As text/meteor.aggregate sums them: a perfect segment adds no chunk."""
        if self.is_mean:
            return super().sums(rows)
        return meteor.without_perfect_chunks(rows["stats"])

    def of_sums(self, totals: Array) -> Array:
        if self.is_mean:
            return super().of_sums(totals)
        return meteor.scores_of(totals)

    def about(self) -> Mapping[str, str]:
        return {"meteor": meteor.SCORER.version}
