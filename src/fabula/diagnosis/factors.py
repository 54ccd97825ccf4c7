"""SODA as a product: localisation × captions × order × count.

For one video with G reference and P predicted events, IoU and caption scores T [G, P], C = IoU·T, let n = min(G, P) and

    L = the best one-to-one sum of IoU, order ignored
    W = the best one-to-one sum of IoU·T when captions may be exchanged between predictions:
        max over M of Σ_{(g,p) ∈ M} IoU(g, p)·T(g, π(p)), π the best exchange, M the best matchings for IoU and for C
    S = SODA's ordered sum of C.                      So n ≥ L ≥ W ≥ S, and F1 = 2S/(G + P).

Over a corpus, each is the fold of its own per-video number 2·/(G + P), and a factor is the quotient of two neighbours:

    count        = ⟨2n/(G+P)⟩                        as many events as there are?
    localisation = ⟨2L/(G+P)⟩ / ⟨2n/(G+P)⟩           at the right time?
    captions     = ⟨2W/(G+P)⟩ / ⟨2L/(G+P)⟩           in the right words, wherever they stand?
    order        = ⟨2S/(G+P)⟩ / ⟨2W/(G+P)⟩           each caption at its event, events in the order of the story?

    count × localisation × captions × order = ⟨F1⟩ = the score, and every factor lies in [0, 1].

SODA_d has no captions: T = 1, W = L, and the third factor is 1. SODA_a and SODA_b choose pairs by one matrix and sum
another; for them no such chain exists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np

from fabula.core.errors import SpecError
from fabula.core.rows import Rows
from fabula.data.stories import Corpus, Story
from fabula.diagnosis._assignment import assignment_many
from fabula.match.ordered import ordered_many
from fabula.metrics import Metric
from fabula.metrics.base import Array
from fabula.metrics.stories import Stories, StoryMetric, compare, soda_d
from fabula.metrics.stories.base import take_best
from fabula.pair.captions import Captions
from fabula.pair.grid import Cells, Grid, Mask
from fabula.pair.strips import MANY

CHAIN = ("count", "localisation", "captions", "order")
BOUNDS = ("n", "L", "W", "S")
SODA_D = soda_d.Metric()


@dataclass(frozen=True, slots=True)
class Factors:
    """Four numbers whose product is the score."""

    count: float
    localisation: float
    captions: float
    order: float

    @property
    def product(self) -> float:
        return self.count * self.localisation * self.captions * self.order

    def to_dict(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in CHAIN} | {"product": self.product}


def find_bounds(grid: Grid, iou: Cells, captions: Cells | None) -> dict[str, Array]:
    """n, L, W, S of all pairs of stories of a grid, each times 2/(G + P); 0 where nothing is predicted. [N] each"""
    G, P = grid.shapes.T
    L, by_iou = assignment_many(iou, grid.shapes)
    if captions is None:
        W, S = L, ordered_many(iou, grid.shapes)[0]
    else:
        C = iou * captions
        U, by_both = assignment_many(C, grid.shapes)
        W = np.maximum.reduce([U, *(sum_exchanged(grid, iou, captions, by) for by in (by_iou, by_both))])
        S = ordered_many(C, grid.shapes)[0]
    share = 2 / (G + P)
    return {"n": np.minimum(G, P) * share, "L": L * share, "W": np.minimum(W, L) * share, "S": S * share}


def sum_exchanged(grid: Grid, iou: Cells, captions: Cells, paired: Mask) -> Array:
    """Σ IoU(g, p)·T(g, π(p)) of each two stories' pairs under the best exchange π of captions among all predictions.

    paired: a flag for each cell that is a pair. [N]
    """
    weight = np.zeros(int(grid.shapes[:, 0].sum()))  # [ΣG]
    weight[grid.gold[paired]] = iou[paired]
    rows = np.bincount(grid.gold[paired], minlength=len(weight)) > 0
    cells = rows[grid.gold]
    m = np.bincount(grid.pair[paired], minlength=len(grid))
    return assignment_many((weight[grid.gold] * captions)[cells], np.stack([m, grid.shapes[:, 1]], axis=1))[0]


@dataclass(frozen=True, kw_only=True)
class Chain(StoryMetric):
    """The bounds as rows, under the rules of a SODA metric."""

    name = "chain"
    portion: ClassVar[int | None] = MANY
    soda: StoryMetric = SODA_D

    def prepare(self, data: Stories) -> Captions | None:
        found: Captions | None = self.soda.prepare(data)
        return found

    def many(self, pairs: Sequence[tuple[Story, Story]], ctx: Captions | None) -> Mapping[str, Array]:
        grid = self.grid(pairs)
        captions = None if ctx is None else ctx.scores(grid, np.ones(len(grid.pair), bool))
        return find_bounds(grid, self.soda.ious(grid), captions)

    def best_rows(self, rows: Rows) -> Rows:
        return take_best(rows, "S")


def factorisable(metric: Metric) -> bool:
    """SODA_c and SODA_d: what they sum is what they match."""
    return bool(getattr(metric, "factors", False))


def chain_rows(metric: Metric, refs: Sequence[Corpus], preds: Corpus) -> Rows:
    """n, L, W, S of every video and reference set."""
    if not factorisable(metric):
        raise SpecError(f"{metric.name} is no product of factors; SODA_c and SODA_d are")
    rules = {f: getattr(metric, f) for f in ("refs", "missing", "order", "segments", "eps")}
    return Chain(soda=cast("StoryMetric", metric), **rules).table(compare(refs, preds))


def factors(metric: Metric, refs: Sequence[Corpus], preds: Corpus) -> Factors:
    """The four factors of a corpus's F1."""
    return fold_factors(chain_rows(metric, refs, preds))


def fold_factors(rows: Rows) -> Factors:
    sets = rows.sets()
    means = [float(np.mean([part[b].mean() for part in sets])) for b in BOUNDS]
    quotients = [b / a if a > 0 else 0.0 for a, b in zip([1.0, *means[:-1]], means, strict=True)]
    return Factors(*quotients)
