"""Highlights of a video for a query (QVHighlights: Lei et al., NeurIPS 2021): what HL_mAP and HL_Hit1 share.

A video is a row of ⌊duration / clip⌋ clips; annotators give the relevant ones marks from 0 to 4, all others have 0.
A clip is a highlight for an annotator when the mark is at least 2 (fair), 3 (good) or 4 (very good).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.core.errors import InputError
from fabula.core.moments import Query
from fabula.metrics.moments.base import Block, Columns, Floats, MomentMetric

MOST_CLIPS = 1_000_000
LEVELS: Mapping[str, float] = {"fair": 2, "good": 3, "verygood": 4}


@dataclass(frozen=True, kw_only=True)
class Highlights(MomentMetric):
    """Base: write `unit`."""

    paper: ClassVar[str] = "Lei et al., NeurIPS 2021"
    tasks: ClassVar[tuple[str, ...]] = ("highlights",)
    needs: ClassVar[Literal["windows", "videos", "saliency"]] = "saliency"
    fields: ClassVar[tuple[str, ...]] = tuple(LEVELS)
    primary: ClassVar[str] = "verygood"
    below_one: ClassVar[str] = "annotators disagree, or mark nothing so highly"

    clip: float = 2.0  # seconds

    def names(self) -> tuple[str, ...]:
        return tuple(LEVELS)

    @abstractmethod
    def unit(self, positive: Floats, saliency: Floats) -> float:
        """One query at one level. positive [C, A] 0 or 1 per annotator; saliency as given, of any length but 0."""

    def units(self, block: Block) -> Columns:
        out = {level: np.zeros(len(block)) for level in LEVELS}
        for i, (query, saliency) in enumerate(zip(block.queries, block.saliency, strict=True)):
            marks = self.marks(query)
            if saliency is None or not len(saliency) or not len(marks):
                continue
            for level, least in LEVELS.items():
                out[level][i] = self.unit((marks >= least).astype(np.float64), saliency)
        return out

    def marks(self, query: Query) -> Floats:
        """The marks of every clip of the video. [C, A]"""
        if query.saliency is None or query.duration is None:
            lack = "marks of clips" if query.saliency is None else "duration"
            hint = "leave the highlight metrics out: --metrics MR_R1,MR_mAP"
            raise InputError(f"the reference has no {lack}", video=query.id, noun="query", hint=hint)
        clips, marks = query.saliency.clips, query.saliency.marks
        if not self.clip > 0 or query.duration / self.clip > MOST_CLIPS:
            hint = f"a clip lasts 2 s in QVHighlights; more than {MOST_CLIPS:,} clips are not made"
            problem = f"{query.duration:g} s in clips of {self.clip:g} s"
            raise InputError(problem, video=query.id, noun="query", hint=hint)
        out = np.zeros((int(query.duration / self.clip), len(marks[0]) if marks else 1))
        if clips and max(clips) >= len(out):
            problem = f"clip {max(clips)} of a video of {len(out)} clips of {self.clip:g} s"
            raise InputError(problem, video=query.id, noun="query", hint="clips are counted from 0; mend the reference")
        out[list(clips)] = marks
        return out
