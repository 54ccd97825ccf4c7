"""Metrics of stories: one video's reference events against its predicted events.

The rules that differ between published evaluators are parameters here, so that a metric file states only its measure:

refs     mean: each reference set alone, numbers averaged over sets · best: per video, the set with the highest primary
         number · merged: the events of all sets together · single: refuse more than one set
missing  zero: a reference video without predictions counts as 0 · drop: it does not count
order    start: both sides sorted by start time · predictions: only the predictions · file: neither
segments checked: reversed, zero-length and negative ones match nothing · raw: no segment is judged
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from fabula.core.nouns import Corpus, Story
from fabula.metrics._base import Metric, Row
from fabula.pair.tiou import Matrix, tiou


@dataclass(frozen=True, kw_only=True)
class StoryMetric(Metric):
    """Base of metrics over stories. Write `unit`; leave the rest."""

    tasks: ClassVar[tuple[str, ...]] = ("dense", "procedure")

    refs: Literal["mean", "best", "merged", "single"] = "mean"
    missing: Literal["zero", "drop"] = "zero"
    order: Literal["start", "predictions", "file"] = "start"
    segments: Literal["checked", "raw"] = "checked"
    eps: float = 0.0  # added to the union in every IoU

    @abstractmethod
    def unit(self, ref: Story, pred: Story, ctx: Any) -> Row:
        """One video → one row. `ref` has at least one event; `pred` may have none."""

    def prepare(self, refs: Sequence[Corpus], preds: Corpus) -> Any:
        """What all units share, made once: tokenised sentences, corpus statistics. Passed on as `ctx`."""
        return None

    def warm(self, block: Sequence[tuple[Sequence[Story | None], Story | None]], ctx: Any) -> None:
        """Work that is cheaper for many videos at once, done before their units; its results are kept in `ctx`."""

    def iou(self, ref: Story, pred: Story) -> Matrix:
        """[G, P]"""
        return tiou(ref.spans, pred.spans, self.eps, raw=self.segments == "raw")

    def rows(self, video: str, refs: Sequence[Story | None], pred: Story | None, ctx: Any) -> list[dict[str, Any]]:
        """The rows of one video under the rules above; none when it does not count."""
        if pred is None:
            if self.missing == "drop":
                return []
            pred = Story(video)
        pred = pred if self.order == "file" else pred.in_order()
        told = {k: ref for k, ref in enumerate(refs) if ref is not None and len(ref)}
        if self.refs == "merged" and told:
            told = {0: Story(video, tuple(e for ref in told.values() for e in ref.events))}
        if self.order == "start":
            told = {k: ref.in_order() for k, ref in told.items()}
        units = {k: self.unit(ref, pred, ctx) for k, ref in told.items()}
        if self.refs == "best" and units:
            units = {0: self.best(list(units.values()))}
        return [{"video": video, "refset": k, **row} for k, row in units.items()]

    def best(self, rows: list[Row]) -> Row:
        """The row of the reference set that serves the prediction best; the first on ties."""
        return max(rows, key=lambda row: row[self.primary])


def prf_row(ref: Story, pred: Story, S: float, precision: float, recall: float, f1: float) -> Row:
    """The row of a metric with precision and recall: the numbers, and what they were made of."""
    n: Mapping[str, float] = {"S": S, "n_ref": float(len(ref)), "n_pred": float(len(pred))}
    return {"precision": precision, "recall": recall, "f1": f1, **n}
