"""BLEU_1 … BLEU_4 (Papineni et al., ACL 2002): statistics summed over the corpus; equation in text/bleu.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from fabula.core.nouns import Item
from fabula.core.rows import Rows
from fabula.metrics.base import Array, Values
from fabula.metrics.captions.base import CaptionMetric
from fabula.text import bleu


@dataclass(frozen=True, kw_only=True)
class Bleu(CaptionMetric):
    """BLEU up to n-grams of order n; a row keeps guess_1..4, correct_1..4, c and r."""

    paper: ClassVar[str] = "Papineni et al., ACL 2002"
    below_one: ClassVar[str] = "no caption may have so many words as its n-grams ask for"
    n: ClassVar[int]

    def units(self, items: Sequence[Item]) -> list[dict[str, Any]]:
        rows = []
        for item in items:
            stats = count_ngrams(item.candidate or "", item.references, item.id)
            rows.append(
                {"value": bleu.segment(stats)[self.n - 1], "stats": [*stats.guess, *stats.correct, stats.c, stats.r]}
            )
        return rows

    def combine(self, rows: Rows) -> Values:
        return {"value": self.of_total(rows["stats"].sum(axis=0))}

    def of_total(self, total: Array) -> float:
        s = [int(x) for x in total]
        summed = bleu.BleuStats((s[0], s[1], s[2], s[3]), (s[4], s[5], s[6], s[7]), s[8], s[9])
        return bleu.segment(summed)[self.n - 1]

    def sums(self, rows: Rows) -> Array | None:
        return rows["stats"]

    def of_sums(self, totals: Array) -> Array:
        return np.array([self.of_total(np.rint(total)) for total in totals])


@lru_cache(maxsize=1 << 16)  # the four orders share one count
def count_ngrams(candidate: str, references: tuple[str, ...], item: object) -> bleu.BleuStats:
    return bleu.stats(candidate, references, item=item)


@dataclass(frozen=True, kw_only=True)
class Bleu1(Bleu):
    name: ClassVar[str] = "BLEU_1"
    below_one: ClassVar[str] = ""
    n: ClassVar[int] = 1


@dataclass(frozen=True, kw_only=True)
class Bleu2(Bleu):
    name: ClassVar[str] = "BLEU_2"
    n: ClassVar[int] = 2


@dataclass(frozen=True, kw_only=True)
class Bleu3(Bleu):
    name: ClassVar[str] = "BLEU_3"
    n: ClassVar[int] = 3


@dataclass(frozen=True, kw_only=True)
class Bleu4(Bleu):
    name: ClassVar[str] = "BLEU_4"
    n: ClassVar[int] = 4


METRICS = (Bleu1, Bleu2, Bleu3, Bleu4)
