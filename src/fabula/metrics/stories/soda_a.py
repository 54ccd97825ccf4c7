"""SODA_a (Fujita et al., ECCV 2020): captions summed over the pairs that IoU ≥ τ chooses, averaged over τ.

C = IoU where IoU ≥ τ, else 0;    S_τ = Σ caption score over the pairs;    mean over τ of P, R and F1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fabula.core.means import add_up, mean
from fabula.core.nouns import Story
from fabula.core.rows import Rows
from fabula.core.spec import show
from fabula.metrics.base import Array, Row
from fabula.metrics.stories._soda import PairSoda, add_in_order, tell_crowded, with_crowded
from fabula.metrics.stories.base import Pair, find_best, find_runs
from fabula.pair.captions import Captions

NUMBERS = ("S", "precision", "recall", "f1")


@dataclass(frozen=True, kw_only=True)
class Metric(PairSoda):
    name: ClassVar[str] = "SODA_a"
    draws: ClassVar[str] = ""  # pairs differ from τ to τ
    at: ClassVar[str | None] = "tiou"

    tiou: tuple[float, ...] = (0.3, 0.5, 0.7, 0.9)

    def many(self, pairs: Sequence[Pair], ctx: Captions) -> dict[str, Array]:
        grid = self.grid(pairs)
        iou = self.ious(grid)
        chosen = {tau: self.choose(np.where(iou >= tau, iou, 0.0), grid) for tau in self.tiou}
        captions = ctx.scores(grid, np.logical_or.reduce(list(chosen.values())))
        columns: dict[str, Array] = {}
        for tau, mask in chosen.items():
            at = self.prf_columns(grid, grid.sum(captions, mask))
            columns |= {f"{n}@{show(tau)}": at[n] for n in NUMBERS} | {n: at[n] for n in ("n_ref", "n_pred")}
        return with_crowded(self.averaged_columns(columns), self.crowded(ctx))

    def unit(self, ref: Story, pred: Story, ctx: Captions) -> Row:
        chosen = {tau: self.choose_strips(ref, pred, tau) for tau in self.tiou}
        some, words = sorted({pair for pairs in chosen.values() for pair in pairs}), self.within(ref, pred, ctx)
        worth = dict(zip(some, words.at(some), strict=True))
        S = {tau: add_in_order([worth[pair] for pair in pairs]) for tau, pairs in chosen.items()}
        return tell_crowded(self.row(ref, pred, S), words.crowded)

    def row(self, ref: Story, pred: Story, S: Mapping[float, float]) -> Row:
        row: Row = {}
        for tau in self.tiou:
            at = self.prf(ref, pred, S[tau])
            row |= {f"{n}@{show(tau)}": at[n] for n in NUMBERS} | {n: at[n] for n in ("n_ref", "n_pred")}
        return self.averaged(row)

    def averaged(self, row: Row) -> Row:
        return row | {n: mean([row[f"{n}@{show(tau)}"] for tau in self.tiou]) for n in NUMBERS}

    def averaged_columns(self, columns: dict[str, Array]) -> dict[str, Array]:
        """`averaged`, column by column."""
        return columns | {
            n: add_up([columns[f"{n}@{show(tau)}"] for tau in self.tiou]) / len(self.tiou) for n in NUMBERS
        }

    def best_rows(self, rows: Rows) -> Rows:
        """`best` of every video, column by column."""
        if not len(rows):
            return rows
        first = rows.take(find_runs(rows)).as_set(0)
        columns = dict(first.columns)
        for tau in map(show, self.tiou):
            top = find_best(rows, f"f1@{tau}")
            columns |= {f"{n}@{tau}": rows[f"{n}@{tau}"][top] for n in NUMBERS}
        return replace(first, columns=self.averaged_columns(columns))

    def best(self, rows: list[Row]) -> Row:
        """The published evaluator chooses the reference set for each τ on its own."""
        row = dict(rows[0])
        for tau in map(show, self.tiou):
            top = max(rows, key=lambda r: r[f"f1@{tau}"])
            row |= {f"{n}@{tau}": top[f"{n}@{tau}"] for n in NUMBERS}
        return self.averaged(row)
