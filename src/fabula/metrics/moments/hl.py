"""Highlights of a video for a query (QVHighlights: Lei et al., NeurIPS 2021): HL_mAP and HL_Hit1.

A video is a row of ⌊duration / clip⌋ clips; annotators give the relevant ones marks from 0 to 4, all others have 0.
A clip is a highlight for an annotator when the mark is at least 2 (fair), 3 (good) or 4 (very good).

HL_mAP   AP per query and annotator, clips in order of score, those of one score together: P_i and R_i after the i-th

             AP = Σ_i (R_i − R_{i−1}) · max_{j ≥ i} P_j        no highlight: 0 · nothing but highlights: 1

         steps  recall: as above · scores: the plain mean of max P over the scores at which recall rises, as published:
                it counts several highlights of one score once
         Clips beyond the video's end are ignored; clips without a score have 0.
HL_Hit1  share of queries whose best-scored clip is a highlight for at least one annotator; on ties the first clip
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, Literal

import numpy as np

from fabula.core.errors import InputError
from fabula.data.moments import Query
from fabula.metrics.moments.base import Block, Columns, Floats, Ints, MomentMetric
from fabula.metrics.precision import precision_of_clips

MOST_CLIPS = 1_000_000
LEVELS: Mapping[str, float] = {"fair": 2, "good": 3, "verygood": 4}


@dataclass(frozen=True, slots=True, eq=False)
class Marked:
    """Queries whose clips were marked by equally many annotators, with their clips end to end."""

    at: Sequence[int]  # [Q] which queries of the block they are
    counts: Ints  # [Q] clips of each
    marks: Floats  # [ΣC, A] 0 where a clip has none
    saliency: Sequence[Floats]  # [Q] as the predictions give it

    @property
    def ends(self) -> Ints:
        return np.cumsum(self.counts)

    @classmethod
    def of(cls, A: int, at: Sequence[int], sizes: Sequence[int], block: Block) -> Marked:
        counts = np.array([sizes[i] for i in at], dtype=np.int64)
        marked = [(block.queries[i].saliency, start) for i, start in zip(at, np.cumsum(counts) - counts, strict=True)]
        out = np.zeros((int(counts.sum()), A))
        filled = [(saliency.clips, start, saliency.marks) for saliency, start in marked if saliency and saliency.clips]
        if filled:
            clips = np.fromiter(chain.from_iterable(clips for clips, _, _ in filled), np.int64)
            starts = np.repeat([start for _, start, _ in filled], [len(clips) for clips, _, _ in filled])
            cells = chain.from_iterable(chain.from_iterable(rows for _, _, rows in filled))
            out[starts + clips] = np.fromiter(cells, np.float64).reshape(-1, A)
        return cls(at, counts, out, [s for i in at if (s := block.saliency[i]) is not None])

    def scores(self) -> Floats:
        """What the predictions give to each clip; 0 where they give nothing. [ΣC]"""
        out = np.zeros(len(self.marks))
        for end, C, saliency in zip(self.ends.tolist(), self.counts.tolist(), self.saliency, strict=True):
            n = min(C, len(saliency))
            out[end - C : end - C + n] = saliency[:n]
        return out


@dataclass(frozen=True, kw_only=True)
class Highlights(MomentMetric):
    """Base: write `many`."""

    paper: ClassVar[str] = "Lei et al., NeurIPS 2021"
    tasks: ClassVar[tuple[str, ...]] = ("highlights",)
    needs: ClassVar[Literal["windows", "videos", "saliency"]] = "saliency"
    primary: ClassVar[str] = "verygood"
    perfect_score: ClassVar[str] = "annotators disagree, or mark nothing so highly"

    clip: float = 2.0  # seconds

    def names(self) -> tuple[str, ...]:
        return tuple(LEVELS)

    @abstractmethod
    def many(self, marked: Marked) -> Floats:
        """The numbers of many queries at every level. [Q, 3]"""

    def units(self, block: Block) -> Columns:
        out = np.zeros((len(block), len(LEVELS)))
        for marked in self.group_marks(block):
            out[marked.at] = self.many(marked)
        return {level: out[:, k] for k, level in enumerate(LEVELS)}

    def group_marks(self, block: Block) -> list[Marked]:
        """The marks of all queries that have something to be judged, by the number of annotators."""
        groups: dict[int, list[int]] = {}
        sizes = [self.count_clips(query) for query in block.queries]
        for i, (query, saliency, size) in enumerate(zip(block.queries, block.saliency, sizes, strict=True)):
            assert query.saliency is not None
            if saliency is not None and len(saliency) and size:
                marks = query.saliency.marks
                groups.setdefault(len(marks[0]) if marks else 1, []).append(i)
        return [Marked.of(A, at, sizes, block) for A, at in groups.items()]

    def count_clips(self, query: Query) -> int:
        """How many clips the video has; what is wrong with its marks is said here."""
        if query.saliency is None or query.duration is None:
            lack = "marks of clips" if query.saliency is None else "duration"
            hint = "leave the highlight metrics out: --metrics MR_R1,MR_mAP"
            raise InputError(f"the reference has no {lack}", video=query.id, noun="query", hint=hint)
        clips = query.saliency.clips
        if not self.clip > 0 or query.duration / self.clip > MOST_CLIPS:
            hint = f"a clip lasts 2 s in QVHighlights; more than {MOST_CLIPS:,} clips are not made"
            problem = f"{query.duration:g} s in clips of {self.clip:g} s"
            raise InputError(problem, video=query.id, noun="query", hint=hint)
        size = int(query.duration / self.clip)
        if clips and max(clips) >= size:
            problem = f"clip {max(clips)} of a video of {size} clips of {self.clip:g} s"
            raise InputError(problem, video=query.id, noun="query", hint="clips are counted from 0; mend the reference")
        return size


@dataclass(frozen=True, kw_only=True)
class MeanPrecision(Highlights):
    name: ClassVar[str] = "HL_mAP"
    summary: ClassVar[str] = (
        "HL_mAP, highlight detection (QVHighlights: Lei et al., NeurIPS 2021): average precision of the clips' scores."
    )
    rules: ClassVar[Mapping[str, str]] = {
        "steps=recall": "each highlight counts, also where several have one score",
        "steps=scores": "several highlights of one score count once",
    }

    steps: Literal["recall", "scores"] = "recall"

    def many(self, marked: Marked) -> Floats:
        return precision_of_clips(marked.marks, marked.scores(), marked.counts, list(LEVELS.values()), self.steps)


@dataclass(frozen=True, kw_only=True)
class Hit1(Highlights):
    name: ClassVar[str] = "HL_Hit1"
    summary: ClassVar[str] = (
        "HL_Hit1, highlight detection (QVHighlights: Lei et al., NeurIPS 2021): is the best-scored clip a highlight?"
    )

    def many(self, marked: Marked) -> Floats:
        best = np.array([int(saliency.argmax()) for saliency in marked.saliency], dtype=np.int64)
        inside = best < marked.counts
        marks = marked.marks[marked.ends - marked.counts + np.where(inside, best, 0)].max(axis=1)  # [Q]
        return np.where(inside[:, None], marks[:, None] >= np.array(list(LEVELS.values())), False).astype(np.float64)


METRICS = (Hit1, MeanPrecision)
