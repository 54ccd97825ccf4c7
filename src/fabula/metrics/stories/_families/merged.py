"""Predictions merged around the anchors of an ordered matching by IoU, as SodaM does (Yao et al., ICML 2026)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from fabula.core.memory import require
from fabula.data.stories import Story
from fabula.match.merged import Groups, merge_all, merge_overlapping
from fabula.match.ordered import marked_pairs, ordered
from fabula.metrics.stories.base import StoryMetric
from fabula.pair.tiou import Matrix


@dataclass(frozen=True, kw_only=True)
class Merged(StoryMetric):
    """backtrack: how anchors are read off the table (match/ordered.py); merge: what joins them (match/merged.py)."""

    keeps_events: ClassVar[bool] = True  # columns have no place for checklists
    rules: ClassVar[Mapping[str, str]] = {
        "backtrack=exact": "anchors follow the best path",
        "backtrack=marked": "anchors are read off marks, not along the best path; one always comes out",
        "merge=overlapping": "a prediction joins the neighbouring anchor whose reference it overlaps more, or none",
        "merge=all": "every prediction joins an anchor, whatever it overlaps",
    }

    backtrack: Literal["exact", "marked"] = "exact"
    merge: Literal["overlapping", "all"] = "overlapping"

    def groups(self, ref: Story, pred: Story) -> Groups:
        """Each reference that has an anchor, with the predictions that tell it."""
        require(
            32 * len(ref) * len(pred), f"the overlaps of {len(ref)} × {len(pred)} events", "cut the video into parts"
        )
        return self.merge_cells(self.iou(ref, pred)) if len(pred) else []

    def merge_cells(self, C: Matrix) -> Groups:
        pairs = marked_pairs(C) if self.backtrack == "marked" else ordered(C)[1]
        return merge_all(pairs, C.shape[1]) if self.merge == "all" else merge_overlapping(C, pairs)
