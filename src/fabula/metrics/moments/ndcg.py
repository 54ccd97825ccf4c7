"""NDCG, ranked moments of graded relevance (RVMR: Liang et al., TVR-Ranking, 2024): are the best answers first?

Per query and τ, in order of rank: an answer takes the free reference of its video that it overlaps most, if IoU > τ,
and has its grade g; else it has 0. Of references that it overlaps equally it takes the best graded. A weak overlap
that comes first uses the reference up.

DCG@k = Σ_{i ≤ k} (2^{g_i} − 1) / log2(i + 1)      NDCG@k = DCG@k / DCG@k of the references, best first; 0 of 0 is 0

Queries without grades have their windows as references, all of grade 1.

ties   of references of one grade that an answer overlaps equally it takes · start: the one that starts first, then the
       one that ends first, so that no number depends on the order of a file · file: the first of the file, as published
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.core.spec import show
from fabula.data.moments import Query, Relevant
from fabula.metrics.moments._recall import Ranked
from fabula.metrics.moments.base import Block, Columns, Floats
from fabula.pair.tiou import area_iou


@dataclass(frozen=True, kw_only=True)
class Metric(Ranked):
    name: ClassVar[str] = "NDCG"
    paper: ClassVar[str] = "Liang et al., TVR-Ranking, 2024"
    tasks: ClassVar[tuple[str, ...]] = ()  # where it is asked for
    answers: ClassVar[str] = "VCMR"
    perfect_score: ClassVar[str] = "references may have grades, and a ranking of them another order"
    primary: ClassVar[str] = "ndcg10@0.5"
    rules: ClassVar[Mapping[str, str]] = {
        "k": "NDCG@k is reported for k = {}",
        "cmp=>": "the overlap must exceed τ",
        "cmp=>=": "the overlap must reach τ",
        "ties=start": "of references of one grade that an answer overlaps equally it takes the earlier",
        "ties=file": "of references of one grade that an answer overlaps equally it takes the first of the file",
    }
    late: ClassVar[frozenset[str]] = Ranked.late | {"ties"}

    k: tuple[float, ...] = (10, 20, 40)
    iou: tuple[float, ...] = (0.3, 0.5, 0.7)
    cmp: Literal[">=", ">"] = ">"
    ties: Literal["start", "file"] = "start"

    def names(self) -> tuple[str, ...]:
        return tuple(f"ndcg{show(k)}@{show(t)}" for t in self.iou for k in self.k)

    def units(self, block: Block) -> Columns:
        columns: Columns = {name: np.zeros(len(block)) for name in self.names()}
        at, _ = block.ranked(self.order, self.top)
        for q, (query, own) in enumerate(zip(block.queries, block.by_query(at), strict=True)):
            wanted = self.best_first(references_of(query))
            grades = np.array([r.grade for r in wanted])
            spans = np.array([r.span for r in wanted], dtype=np.float64).reshape(-1, 2)
            videos = np.array([block.numbers[r.video] for r in wanted], dtype=np.int64)
            iou = area_iou(block.spans[own][:, None], spans)  # [A, W]
            iou = np.where(np.isnan(iou) | (block.videos[own][:, None] != videos), -1.0, iou)
            for tau in self.iou:
                found = self.take_grades(iou, grades, tau)
                for k in self.k:
                    best = gain(grades, int(k))
                    columns[f"ndcg{show(k)}@{show(tau)}"][q] = gain(found, int(k)) / best if best else 0.0
        return columns

    def best_first(self, wanted: Sequence[Relevant]) -> list[Relevant]:
        """References by grade, and those of one grade as `ties` says: of equal overlaps the first one is taken."""
        return sorted(wanted, key=lambda r: (-r.grade, *(r.span if self.ties == "start" else ())))

    def take_grades(self, iou: Floats, grades: Floats, tau: float) -> Floats:
        """The grade of each answer: that of the free reference it overlaps most, if enough. [A, W], [W] → [A]"""
        free = iou.copy()
        out = np.zeros(len(iou))
        for i in range(len(iou)):
            best = int(free[i].argmax()) if free.shape[1] else 0
            if free.shape[1] and (free[i, best] >= tau if self.cmp == ">=" else free[i, best] > tau):
                out[i] = grades[best]
                free[:, best] = -1.0
        return out


def references_of(query: Query) -> tuple[Relevant, ...]:
    """The graded answers; the windows, all of grade 1, where there are none."""
    if query.graded is not None:
        return query.graded
    return tuple(Relevant(query.video, window, 1.0) for window in query.windows)


def gain(grades: Floats, k: int) -> float:
    """DCG@k."""
    g = grades[:k]
    return float(((2.0**g - 1) / np.log2(np.arange(len(g)) + 2)).sum())
