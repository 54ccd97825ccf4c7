"""AllWindows (E.T. Bench's action localisation, Liu et al., NeurIPS 2024): all windows of an answer against all.

precision = share of the answer's windows that are right at τ      recall = share of the query's windows that are found
f1        of each query, mean over queries, then over τ

match    one-to-one: the matching of largest Σ IoU (Kuhn 1955), pairs with IoU ≥ τ · covering: a window is right where
         any of the other side overlaps it by τ, so that one answer may serve several windows, and several answers one
digits   float64 · float32: IoU, τ, and the shares, as the published program holds them
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.core.spec import show
from fabula.match.hungarian import hungarian
from fabula.metrics.moments.base import Floats, PerQuery
from fabula.metrics.moments.onetomany import in_order
from fabula.pair.tiou import area_iou, single_iou

PARTS = ("precision", "recall", "f1")


@dataclass(frozen=True, kw_only=True)
class Metric(PerQuery):
    name: ClassVar[str] = "AllWindows"
    paper: ClassVar[str] = "Liu et al., NeurIPS 2024"
    rules: ClassVar[Mapping[str, str]] = {
        "match=one-to-one": "windows are matched one to one",
        "match=covering": "a window counts as found where any window of the other side overlaps it",
    }

    iou: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7)
    match: Literal["one-to-one", "covering"] = "one-to-one"
    digits: Literal["float64", "float32"] = "float64"
    over: Literal["queries", "sources"] = "queries"
    reader: str = "fabula"

    def names(self) -> tuple[str, ...]:
        return ("f1", "precision", "recall", *(f"f1@{show(t)}" for t in self.iou))

    def one(self, answer: Floats, wanted: Floats) -> dict[str, float]:
        if not (len(answer) and len(wanted)):
            return {}
        answer, wanted = in_order(answer), in_order(wanted)  # of matchings with one sum, the same in any order
        iou = (single_iou if self.digits == "float32" else area_iou)(wanted[:, None], answer)  # [G, P]
        pairs = np.array([iou[g, p] for g, p in hungarian(iou)[1]]) if self.match == "one-to-one" else None
        shares = [self.shares(iou, pairs, t) for t in self.iou]
        f1s = [2 * p * r / (p + r) if p + r > 0 else 0.0 for p, r in shares]
        table = np.array([(*pr, f) for pr, f in zip(shares, f1s, strict=True)])  # [τ, 3]
        means = dict(zip(PARTS, table.mean(axis=0).tolist(), strict=True))
        return means | {f"f1@{show(t)}": f for t, f in zip(self.iou, f1s, strict=True)}

    def shares(self, iou: Floats, pairs: Floats | None, t: float) -> tuple[float, float]:
        """Precision and recall at one τ."""
        single = self.digits == "float32"
        t = float(np.float32(t)) if single else t
        if pairs is not None:
            hits = float((pairs >= t).sum())
            return hits / iou.shape[1], hits / iou.shape[0]
        found = (iou.max(axis=0) >= t), (iou.max(axis=1) >= t)
        p, r = (np.mean(side, dtype=np.float32 if single else np.float64) for side in found)
        return float(p), float(r)
