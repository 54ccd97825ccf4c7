"""Precision and recall at an overlap τ (Krishna et al., ICCV 2017; Zhou et al., AAAI 2018): not one to one.

Precision = |{p : ∃g IoU(g, p) > τ}| / |P|      Recall = |{g : ∃p IoU(g, p) > τ}| / |G|

One prediction may cover many references and the other way round: OrderedPRF is the stricter reading.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from fabula.core.errors import SpecError
from fabula.core.nouns import Story
from fabula.core.rows import Rows
from fabula.metrics._base import Row, Values, f1
from fabula.metrics._story import StoryMetric, prf_row


@dataclass(frozen=True, kw_only=True)
class Metric(StoryMetric):
    name: ClassVar[str] = "PRF"
    paper: ClassVar[str] = "Krishna et al., ICCV 2017"
    fields: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1")
    primary: ClassVar[str] = "f1"
    at: ClassVar[str | None] = "tau"

    tau: float = 0.5
    cmp: Literal[">", ">="] = ">"
    top: int | None = None  # only the first N predictions of the file count
    f1: Literal["videos", "means"] = "videos"  # mean of the videos' F1, or the F1 of mean P and mean R
    best_by: Literal["f1", "each"] = "f1"  # refs=best: one set for all, or the best P and the best R on their own

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.top is not None and self.top < 1:
            raise SpecError(f"{self.name}: top={self.top}; it must be at least 1, or none")

    def rows(self, video: str, refs: Any, pred: Story | None, ctx: Any) -> list[dict[str, Any]]:
        if pred is not None and self.top is not None:
            pred = replace(pred, events=pred.events[: self.top])
        return super().rows(video, refs, pred, ctx)

    def unit(self, ref: Story, pred: Story, ctx: Any) -> Row:
        iou = self.iou(ref, pred)  # [G, P]
        hit = iou > self.tau if self.cmp == ">" else iou >= self.tau
        precision = float(hit.any(axis=0).mean()) if len(pred) else 0.0
        recall = float(hit.any(axis=1).mean())
        return prf_row(ref, pred, float(hit.sum()), precision, recall, f1(precision, recall))

    def best(self, rows: list[Row]) -> Row:
        if self.best_by == "f1":
            return super().best(rows)
        precision, recall = max(r["precision"] for r in rows), max(r["recall"] for r in rows)
        return rows[0] | {"precision": precision, "recall": recall, "f1": f1(precision, recall)}

    def combine(self, rows: Rows) -> Values:
        values = super().combine(rows)
        return values | {"f1": f1(values["precision"], values["recall"])} if self.f1 == "means" else values
