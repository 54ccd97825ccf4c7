"""Highlights of a video for a query (QVHighlights: Lei et al., NeurIPS 2021): what HL_mAP and HL_Hit1 share.

A video is a row of ⌊duration / clip⌋ clips; annotators give the relevant ones marks from 0 to 4, all others have 0.
A clip is a highlight for an annotator when the mark is at least 2 (fair), 3 (good) or 4 (very good).
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
        told = [(saliency.clips, start, saliency.marks) for saliency, start in marked if saliency and saliency.clips]
        if told:
            clips = np.fromiter(chain.from_iterable(some for some, _, _ in told), np.int64)
            starts = np.repeat([start for _, start, _ in told], [len(some) for some, _, _ in told])
            cells = chain.from_iterable(chain.from_iterable(rows for _, _, rows in told))
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
    """Base: write `unit`."""

    paper: ClassVar[str] = "Lei et al., NeurIPS 2021"
    tasks: ClassVar[tuple[str, ...]] = ("highlights",)
    needs: ClassVar[Literal["windows", "videos", "saliency"]] = "saliency"
    fields: ClassVar[tuple[str, ...]] = tuple(LEVELS)
    primary: ClassVar[str] = "verygood"
    perfect_score: ClassVar[str] = "annotators disagree, or mark nothing so highly"

    clip: float = 2.0  # seconds

    def names(self) -> tuple[str, ...]:
        return tuple(LEVELS)

    @abstractmethod
    def unit(self, positive: Floats, saliency: Floats) -> float:
        """One query at one level. positive [C, A] 0 or 1 per annotator; saliency as given, of any length but 0."""

    def many(self, marked: Marked) -> Floats:
        """The same of many queries at every level. [Q, 3]"""
        out = np.zeros((len(marked.counts), len(LEVELS)))
        parts = np.split(marked.marks, marked.ends[:-1])
        for i, (own, saliency) in enumerate(zip(parts, marked.saliency, strict=True)):
            for k, least in enumerate(LEVELS.values()):
                out[i, k] = self.unit((own >= least).astype(np.float64), saliency)
        return out

    def units(self, block: Block) -> Columns:
        if block.made.get("clip") != self.clip:  # once for both metrics
            block.made.update(clip=self.clip, marked=self.lay_marks(block))
        marked: Mapping[int, Marked] = block.made["marked"]
        out = np.zeros((len(block), len(LEVELS)))
        for some in marked.values():
            out[some.at] = self.many(some)
        return {level: out[:, k] for k, level in enumerate(LEVELS)}

    def lay_marks(self, block: Block) -> Mapping[int, Marked]:
        """The marks of all queries that have something to be judged, by the number of annotators."""
        groups: dict[int, list[int]] = {}
        sizes = [self.count_clips(query) for query in block.queries]
        for i, (query, saliency, size) in enumerate(zip(block.queries, block.saliency, sizes, strict=True)):
            assert query.saliency is not None
            if saliency is not None and len(saliency) and size:
                marks = query.saliency.marks
                groups.setdefault(len(marks[0]) if marks else 1, []).append(i)
        return {A: Marked.of(A, at, sizes, block) for A, at in groups.items()}

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
