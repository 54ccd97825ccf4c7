"""Recall of moments in a ranking, R@k at an overlap τ (Lei et al., ECCV 2020): what VCMR, SVMR and VR share.

R@k = share of queries with a right answer among the first k

cast   the numbers' precision: TVR's evaluator casts times to float32, and an IoU on the border may fall either way
agree  DiDeMo has a window per annotator: with `agree_from` of them or more, an answer must overlap `agree` of them;
       with fewer, any one
top    only so many answers are looked at · order  file: as listed · score: sorted by score first
unlisted  error: a number that the file gives to no video is refused · wrong: the answer takes its place and is wrong
nms    suppress windows of one video that overlap more than this, before anything is counted; needs scores
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from fabula._kernels import native
from fabula.core.errors import InputError, SpecError
from fabula.core.spec import show
from fabula.match.nms import nms, shifted_nms
from fabula.metrics.moments.base import Block, Columns, Floats, Ints, MomentMetric, first_place, places
from fabula.pair.tiou import hull_iou


@dataclass(frozen=True, kw_only=True)
class Ranked(MomentMetric):
    """A recall at k."""

    paper: ClassVar[str] = "Lei et al., ECCV 2020"
    late: ClassVar[frozenset[str]] = MomentMetric.late | {"unlisted"}
    rules: ClassVar[Mapping[str, str]] = {
        "unlisted=error": "a number that the file gives to no video is refused",
        "unlisted=wrong": "an answer whose number the file gives to no video is a wrong one",
        "k": "R@k is reported for k = {}",
        "top=none": "every answer of a list is looked at",
        "top": "only the first {} answers of a list are looked at",
    }

    k: tuple[float, ...] = (1, 5, 10, 100)
    top: int | None = 100
    order: Literal["file", "score"] = "file"
    unlisted: Literal["error", "wrong"] = "error"

    def __post_init__(self) -> None:
        super().__post_init__()
        for k in self.k:
            if k < 1 or k != int(k):
                raise SpecError(f"{self.name}: k={show(k)}; it is a whole number from 1 on")

    def recalls(self, rank: Floats, tail: str = "") -> Columns:
        """R@k of every query from the place of its first right answer, and that place (0: none). [Q] each"""
        found = {f"r{show(k)}{tail}": (rank <= k).astype(np.float64) for k in self.k}
        return found | {f"rank{tail}": np.where(np.isfinite(rank), rank, 0.0)}


@dataclass(frozen=True, kw_only=True)
class MomentRecall(Ranked):
    """A recall at k and τ."""

    perfect_score: ClassVar[str] = "from four windows on two must be overlapped, and they may share nothing"
    own_video_only: ClassVar[bool] = False  # True: answers in other videos are taken out before places are counted
    primary: ClassVar[str] = "r1@0.5"
    rules: ClassVar[Mapping[str, str]] = {
        "cast=float64": "times are doubles",
        "cast=float32": "times are cast to float32, so that an IoU on the border may fall either way",
        "cmp=>": "the overlap must exceed τ",
        "cmp=>=": "the overlap must reach τ",
        "agree": "with several annotators' windows an answer must overlap {} of them",
        "agree_from": "from {} windows on, annotators must agree",
        "nms=none": "no answer is suppressed",
        "nms": "answers that overlap a better one by more than {} are suppressed",
        "nms_rows=right": "suppression compares start and end",
        "nms_rows=shifted": "suppression reads rows one column off: it compares [video, start] and sorts by end",
    }

    iou: tuple[float, ...] = (0.5, 0.7)
    cmp: Literal[">=", ">"] = ">="
    cast: Literal["float64", "float32"] = "float64"
    agree: int = 2
    agree_from: int = 4
    nms: float | None = None
    nms_rows: Literal["right", "shifted"] = "right"  # shifted: the slip described in match/nms.py

    def names(self) -> tuple[str, ...]:
        return tuple(f"r{show(k)}@{show(t)}" for t in self.iou for k in self.k)

    def suppress(self, block: Block) -> tuple[Ints, Ints]:
        """What is left after NMS, query by query: which answers, and at which place."""
        assert self.nms is not None
        if np.isnan(block.scores).any():
            query = block.queries[int(block.of[np.flatnonzero(np.isnan(block.scores))[0]])]
            raise InputError("nms needs scores", video=query.id, noun="query", hint="leave nms out, or add the scores")
        rule, left = shifted_nms if self.nms_rows == "shifted" else nms, [np.zeros(0, dtype=np.int64)]
        for own in block.by_query(np.arange(len(block.of))):
            left.append(own[rule(block.spans[own], block.scores[own], self.nms, block.videos[own], self.top)])
        at = np.concatenate(left)
        return at, places(block.of[at], len(block))

    def units(self, block: Block) -> Columns:
        """R@k at every τ."""
        kernels = native()
        if kernels is None or self.nms is not None or self.order != "file":
            ranks = self.first_right_python(block)
        else:
            ranks = kernels.first_right(
                block.counts,
                block.spans,
                block.videos,
                block.own,
                *block.listed_windows,
                self.iou,
                above=self.cmp == ">",
                single=self.cast == "float32",
                agree=self.agree,
                agree_from=self.agree_from,
                top=self.top,
                own_only=self.own_video_only,
            )
        columns: Columns = {}
        for tau, rank in zip(self.iou, ranks, strict=True):
            columns |= self.recalls(rank, f"@{show(tau)}")
        return columns

    def first_right_python(self, block: Block) -> list[Floats]:
        """The place of each query's first right answer, at every τ; the specification of the kernel. [T][Q]"""
        if self.nms is None:
            at, place = block.ranked(self.order, self.top, right=True)
        else:
            at, place = self.suppress(block)
            at, place = at[block.right[at]], place[block.right[at]]
        of = block.of[at]
        if self.own_video_only:
            place = places(of, len(block))
        kind: Any = np.float32 if self.cast == "float32" else np.float64
        windows, counts = block.windows()
        with np.errstate(over="ignore"):  # beyond float32 a time is endless, there as here
            spans, windows = block.spans[at].astype(kind), windows.astype(kind)
        iou = hull_iou(spans[:, None], windows[of])  # [K, W]
        enough = np.where(counts >= self.agree_from, self.agree, 1)[of]  # [K]
        ranks = []
        for tau in self.iou:
            over = iou >= kind(tau) if self.cmp == ">=" else iou > kind(tau)
            hit = over.sum(axis=1) >= enough
            ranks.append(first_place(of[hit], place[hit], len(block)))
        return ranks
