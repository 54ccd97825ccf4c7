"""SODA_a (Fujita et al., ECCV 2020): captions summed over the pairs that IoU ≥ τ chooses, averaged over τ.

C = IoU where IoU ≥ τ, else 0;    S_τ = Σ caption score over the pairs;    mean over τ of P, R and F1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from fabula.core.means import add_up
from fabula.core.rows import Rows
from fabula.core.spec import show
from fabula.metrics.base import Array
from fabula.metrics.stories._soda import PairSoda, Sheet
from fabula.metrics.stories.base import Pair, find_best, find_runs
from fabula.pair.captions import Captions
from fabula.pair.grid import Cells

NUMBERS = ("S", "precision", "recall", "f1")


@dataclass(frozen=True, kw_only=True)
class Metric(PairSoda):
    name: ClassVar[str] = "SODA_a"
    draws: ClassVar[str] = ""  # pairs differ from τ to τ
    at: ClassVar[str | None] = "tiou"

    tiou: tuple[float, ...] = (0.3, 0.5, 0.7, 0.9)

    def many(self, pairs: Sequence[Pair], ctx: Captions) -> dict[str, Array]:
        sheet, marked = Sheet(self, pairs, ctx), self.backtrack == "marked"
        chosen = [sheet.choose(partial(cut_below, tau), marked) for tau in self.tiou]
        cells = np.unique(np.concatenate(chosen))
        captions = sheet.texts(cells)
        columns: dict[str, Array] = {}
        for tau, chosen_cells in zip(self.tiou, chosen, strict=True):
            at = self.prf(pairs, sheet.sum(captions[np.searchsorted(cells, chosen_cells)], chosen_cells))
            columns |= {f"{n}@{show(tau)}": at[n] for n in NUMBERS} | {n: at[n] for n in ("n_ref", "n_pred")}
        return self.add_crowded(self.averaged(columns), sheet)

    def averaged(self, columns: dict[str, Array]) -> dict[str, Array]:
        """With the means over τ."""
        return columns | {
            n: add_up([columns[f"{n}@{show(tau)}"] for tau in self.tiou]) / len(self.tiou) for n in NUMBERS
        }

    def best_rows(self, rows: Rows) -> Rows:
        """The published evaluator chooses the reference set for each τ on its own."""
        if not len(rows):
            return rows
        first = rows.take(find_runs(rows)).as_set(0)
        columns = dict(first.columns)
        for tau in map(show, self.tiou):
            top = find_best(rows, f"f1@{tau}")
            columns |= {f"{n}@{tau}": rows[f"{n}@{tau}"][top] for n in NUMBERS}
        return replace(first, columns=self.averaged(columns))


def cut_below(tau: float, iou: Cells, text: Cells | None) -> Cells:
    return np.where(iou >= tau, iou, 0.0)
