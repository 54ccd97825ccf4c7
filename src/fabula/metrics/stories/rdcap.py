"""RDCap (Cho et al., PerceptionLM, 2025): SODA_c of what a model says of one subject, captions scored by a judge.

C = IoU × judge's score;    S = the value of the best ordered matching of C;    the mean over videos of F1

Cells that do not overlap are 0 whatever a judge would say of them: it is asked about the others only.
reader   answers in words are read by it, ours or the published evaluator's; a file that holds events is read as it is
frames   exact: references keep their place between two frames · truncated: each end is cut to a whole one
corner   free: no pair need be matched · taken: as published, before the first pair stands −1 (match/ordered.TakenRows)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.data.stories import Columns, Story
from fabula.io.answers.readers import find_telling
from fabula.match.ordered import TakenRows, ordered_many
from fabula.metrics.base import Array
from fabula.metrics.stories import soda_c
from fabula.metrics.stories._soda import Sheet
from fabula.metrics.stories.base import PairedStories, Video
from fabula.pair.grid import Cells, Grid


@dataclass(frozen=True, kw_only=True)
class Metric(soda_c.Metric):
    name: ClassVar[str] = "RDCap"
    paper: ClassVar[str] = "Cho et al., PerceptionLM, 2025"
    shown: ClassVar[bool] = False
    perfect_score: ClassVar[str] = "where the judge does not find a caption to be its own equal"
    rules: ClassVar[Mapping[str, str]] = {
        "text": "captions are scored by {}",
        "reader=fabula": "answers in words are read by our own rules",
        "reader": "answers in words are read as {} reads them",
        "frames=exact": "references keep their place between two frames",
        "frames=truncated": "the ends of references are cut to whole frames, each alone",
        "corner=free": "a pair that scores below nothing is not matched",
        "corner=taken": "one pair is matched even where all score below nothing",
    }

    text: str = "judge:fabula"
    tok: Literal["ptb", "none"] = "none"
    reader: str = "fabula"
    frames: Literal["exact", "truncated"] = "exact"
    corner: Literal["free", "taken"] = "free"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "reader", find_telling(self.reader).name)

    def pair_up(self, block: Sequence[Video]) -> PairedStories:
        paired = super().pair_up(block)
        if self.frames == "exact":
            return paired
        return PairedStories([(cut_story(ref), pred) for ref, pred in paired], paired.videos, paired.refset)

    def matched(self, sheet: Sheet) -> Array:
        if self.corner == "free":
            return super().matched(sheet)
        if sheet.is_large:
            return np.array([sheet.fill(TakenRows(len(sheet.pred)), self.matched_cells).value])
        C, grid = next(sheet.tiles(self.matched_cells)), sheet.grid
        return take_corners(C, grid, ordered_many(C, grid.shapes)[0])


def cut_story(story: Story) -> Story:
    """Each end cut to a whole number, towards 0."""
    columns = Columns(np.trunc(story.spans), story.words, story.scores)
    return Story.of_columns(story.id, columns, 0, len(story), story.duration)


def take_corners(C: Cells, grid: Grid, S: Array) -> Array:
    """The values S again, by `TakenRows` where a score is negative. [N]"""
    values, ends = S.copy(), np.cumsum(grid.shapes[:, 0] * grid.shapes[:, 1])
    for n in np.unique(grid.pair[C < 0]).tolist():
        G, P = grid.shapes[n].tolist()
        rows = TakenRows(P)
        rows.add(C[ends[n] - G * P : ends[n]].reshape(G, P))
        values[n] = rows.value
    return values
