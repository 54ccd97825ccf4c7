"""SODA_parts: where and what of the pairs that SODA_c matches, apart (VANTAGE-Bench, 2026).

    pairs of the best ordered matching of C = IoU × caption score, as in SODA_c
    iou_f1 = F(Σ IoU over pairs)   text_f1 = F(Σ caption score over pairs)   F(x): of x/|P|, x/|G|; the mean over videos
    miou   = Σ IoU over the pairs of all videos / how many pairs there are

The product that SODA_c gives does not say whether words or times are wrong. A pair that adds nothing to SODA_c is none;
the published evaluator reads pairs off marks, so that one comes out of zeros, too, and its words count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fabula.core.means import f1_of
from fabula.core.rows import Rows
from fabula.metrics.base import Array, Values
from fabula.metrics.stories._soda import PairSoda, Sheet
from fabula.metrics.stories.base import Pair
from fabula.pair.captions import Captions
from fabula.pair.grid import Cells


@dataclass(frozen=True, kw_only=True)
class Metric(PairSoda):
    name: ClassVar[str] = "SODA_parts"
    paper: ClassVar[str] = "VANTAGE-Bench, 2026"
    fields: ClassVar[tuple[str, ...]] = ("iou_f1", "text_f1", "miou")
    primary: ClassVar[str] = "text_f1"
    shown: ClassVar[bool] = False
    draws: ClassVar[str] = ""
    reads_cells: ClassVar[bool] = True

    def matched_cells(self, iou: Cells, text: Cells | None) -> Cells:
        return iou if text is None else iou * text

    def many(self, pairs: Sequence[Pair], ctx: Captions) -> dict[str, Array]:
        sheet = Sheet(self, pairs, ctx)
        chosen = self.choose(sheet)
        iou, text, n = (
            sheet.sum(values, chosen) for values in (sheet.ious(chosen), sheet.texts(chosen), np.ones(len(chosen)))
        )
        G, P = self.sizes(pairs)
        per = [np.divide(S, size, out=np.zeros(len(S)), where=P > 0) for S in (iou, text) for size in (P, G)]
        numbers = {"iou_f1": f1_of(per[0], per[1]), "text_f1": f1_of(per[2], per[3])}
        miou = np.divide(iou, n, out=np.zeros(len(n)), where=n > 0)
        columns = {**numbers, "miou": miou, "S_iou": iou, "pairs": n, "n_ref": G, "n_pred": P}
        return self.add_crowded(columns, sheet)

    def combine(self, rows: Rows) -> Values:
        pairs = float(rows["pairs"].sum())
        means = {f: float(rows[f].mean()) for f in ("iou_f1", "text_f1")}
        return means | {"miou": float(rows["S_iou"].sum()) / pairs if pairs else 0.0}

    def sums(self, rows: Rows) -> Array | None:
        return np.stack([rows[self.primary], np.ones(len(rows))], axis=1)
