"""MergedPRF (TimeChat-Captioner's eval_time: Yao et al., ICML 2026): PRF of hulls, so that pieces of an event are one.

    hull of a group = [min start, max end] of the predictions merged into an anchor (_families/merged.py)
    P, R, F1 as in PRF, of the hulls          mIoU = 1/|G| Σ_g max_h IoU(g, h)

Hulls fill gaps: [0, 2] and [18, 20] become [0, 20]. The published mIoU averages over hulls, not over references.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from fabula.core.rows import Rows
from fabula.data.stories import Event, Segment, Story
from fabula.metrics.base import Array
from fabula.metrics.stories import prf
from fabula.metrics.stories._families.merged import Merged
from fabula.metrics.stories.base import Pair, find_runs


@dataclass(frozen=True, kw_only=True)
class Metric(Merged, prf.Metric):
    name: ClassVar[str] = "MergedPRF"
    paper: ClassVar[str] = "Yao et al., ICML 2026"
    shown: ClassVar[bool] = False
    fields: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1", "miou")
    rules: ClassVar[Mapping[str, str]] = {
        "mean=references": "mIoU is the mean over references of what overlaps each best",
        "mean=predictions": "mIoU is the mean over merged predictions of what each overlaps best",
    }

    mean: Literal["references", "predictions"] = "references"

    def many(self, pairs: Sequence[Pair], ctx: object) -> dict[str, Array]:
        merged = [(ref, self.hulls(ref, pred)) for ref, pred in pairs]
        return super().many(merged, ctx) | {"miou": np.array([self.mean_best(ref, pred) for ref, pred in merged])}

    def best_rows(self, rows: Rows) -> Rows:
        """The best mIoU goes with the best of the others: with one set, or taken on its own."""
        best = super().best_rows(rows)
        if not len(rows) or "miou" in best.columns:
            return best
        return replace(best, columns={**best.columns, "miou": np.maximum.reduceat(rows["miou"], find_runs(rows))})

    def hulls(self, ref: Story, pred: Story) -> Story:
        """Each group as one event, then what joined none."""
        groups = [members for _, members in self.groups(ref, pred)]
        joined = {j for members in groups for j in members}
        spans = [(pred.spans[members, 0].min(), pred.spans[members, 1].max()) for members in groups]
        spans += [tuple(pred.spans[j]) for j in range(len(pred)) if j not in joined]
        return Story(pred.id, tuple(Event(Segment(float(s), float(e))) for s, e in spans), pred.duration)

    def mean_best(self, ref: Story, pred: Story) -> float:
        if not len(pred):
            return 0.0
        best = self.iou(ref, pred).max(axis=1 if self.mean == "references" else 0)
        return float(best.mean())
