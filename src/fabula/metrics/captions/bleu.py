"""BLEU_1 … BLEU_4 (Papineni et al., ACL 2002): statistics summed over the corpus; equation in text/bleu.py.

take  own: BLEU_n is its n-th number · mean: each of the four is the mean of all four, as lmms-eval's YouCook2 has it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.core.rows import Rows
from fabula.data.stories import Item
from fabula.metrics.base import Array, Values, once
from fabula.metrics.captions.base import CaptionMetric, place_items
from fabula.text import bleu


def count_items(items: Sequence[Item]) -> tuple[Array, Array]:
    """The statistics of each item, and its BLEU-1..4. [K, 10], [K, 4]"""
    stats = bleu.stats_pairs(place_items(items))
    return stats.astype(np.float64), bleu.segments(stats)


@dataclass(frozen=True, kw_only=True)
class Bleu(CaptionMetric):
    """BLEU up to n-grams of order n; a row keeps guess_1..4, correct_1..4, c and r."""

    paper: ClassVar[str] = "Papineni et al., ACL 2002"
    perfect_score: ClassVar[str] = "no caption may have so many words as its n-grams ask for"
    n: ClassVar[int]
    late: ClassVar[frozenset[str]] = CaptionMetric.late | {"take"}
    rules: ClassVar[Mapping[str, str]] = {
        "take=own": "BLEU_n is its own number",
        "take=mean": "every BLEU_n is the mean of the four",
    }

    take: Literal["own", "mean"] = "own"

    def tabulate(self, items: Sequence[Item]) -> Mapping[str, Array]:
        stats, orders = once(items, bleu.NAME, lambda: count_items(items))
        return {"value": self.pick(orders), "stats": stats}

    def combine(self, rows: Rows) -> Values:
        return {"value": float(self.of_sums(rows["stats"].sum(axis=0, keepdims=True))[0])}

    def sums(self, rows: Rows) -> Array | None:
        return rows["stats"]

    def of_sums(self, totals: Array) -> Array:
        return self.pick(bleu.segments(np.rint(totals).astype(np.int64)))

    def pick(self, orders: Array) -> Array:
        """[K, 4] → [K]"""
        return orders[:, self.n - 1] if self.take == "own" else orders.mean(axis=1)


@dataclass(frozen=True, kw_only=True)
class Bleu1(Bleu):
    name: ClassVar[str] = "BLEU_1"
    perfect_score: ClassVar[str] = ""
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
