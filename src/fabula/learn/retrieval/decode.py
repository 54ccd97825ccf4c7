"""From logits to ranked moments, as XML and its heirs do it (Lei et al., ECCV 2020): span scores, NMS, seconds.

    p_st, p_ed = softmax over a video's clips          w = exp(α · video score)
    score(st, ed) = w · p_st · p_ed                    for min_length ≤ ed − st < max_length, the best `before_nms` kept
    NMS video by video (IoU > nms goes), the best `after_nms` kept; clips become seconds (core.moments.clip_seconds)

A video longer than the model sees is several windows, each with a softmax and a video score of its own; their moments
are laid on one time line and suppressed together. Where the video is known (SVMR), w is exp(α (s − s of the best
window)): 1 for a video of one window, and what tells windows apart otherwise.

The published programs' slips are options of `Decoding`; the defaults are the consistent rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fabula.core.errors import SpecError
from fabula.data.moments import clip_seconds
from fabula.documents.fields import JsonDict
from fabula.learn.retrieval.contract import Ends, kernels_for, thread_count
from fabula.match.nms import shifted_nms

ROOM = 16_000_000  # numbers of one block: 64 MB


@dataclass(frozen=True)
class Decoding:
    """How moments are read off a model; `Decoding.of(config)` takes a model's own values."""

    clip: float = 1.0  # seconds
    alpha: float = 20.0
    min_length: int = 2  # min_length ≤ last − first < max_length, in clips
    max_length: int = 12
    nms: float | None = 0.6  # None: nothing is suppressed
    end: Ends = "inside"
    videos: int = 100  # so many videos of each query are looked into
    before_nms: int = 200
    after_nms: int = 100
    late: Literal["cut", "kept"] = "cut"  # an end after the video's end: cut there, or kept as published
    nms_reads: Literal["all", "listed"] = "all"  # listed: NMS sees the first `after_nms` alone, as published
    own_nms: Literal["right", "shifted"] = "right"  # shifted: ReLoCLNet's slip where the video is known (match/nms.py)
    unravel: int | None = None  # read flat indices as if every video had so many clips, as published; None: its own

    @classmethod
    def of(cls, config: Any, **changes: Any) -> Decoding:
        """The values of a model's config."""
        named = ("clip", "alpha", "min_length", "max_length", "nms", "end")
        return cls(**{name: getattr(config, name) for name in named} | changes)

    def __post_init__(self) -> None:
        if not 0 <= self.min_length < self.max_length:
            raise SpecError(f"lengths from {self.min_length} to {self.max_length} clips; the first must be smaller")
        if min(self.videos, self.before_nms, self.after_nms) < 1:
            raise SpecError("videos, before_nms and after_nms must be at least 1")


# What the published programs do, by the names of their evaluators' protocols; of models see learn/tasks/vcmr.py.
PUBLISHED: dict[str, JsonDict] = {
    "tvr": {"end": "inside", "late": "kept", "nms_reads": "listed"},
    "reloclnet": {"end": "past", "late": "kept", "nms_reads": "listed", "own_nms": "shifted"},
    "hero": {"end": "inside", "late": "kept", "nms_reads": "listed"},
    "qvhighlights": {"end": "inside", "late": "kept"},
}


class RankedMoments(NamedTuple):
    """Moments of Q queries, best first, K at most. Where `score` is 0 there is none."""

    video: Tensor  # [Q, K] int64, numbers of the corpus
    span: Tensor  # [Q, K, 2] seconds, double
    score: Tensor  # [Q, K]


class Spans(NamedTuple):
    """The best spans of Q queries in clips of the row they were found in."""

    row: Tensor  # [Q, K] place among the rows given
    first: Tensor  # [Q, K]
    last: Tensor  # [Q, K]
    score: Tensor  # [Q, K] 0: none


def best_places(values: Tensor, most: int) -> tuple[Tensor, Tensor]:
    """The best `most` of each row and their places, best first, ties by place; NaN counts as −∞. [Q, N] → [Q, K]"""
    if (kernels := kernels_for(values)) is None:
        return best_places_python(values, most)
    best = values.new_empty(len(values), most)
    places = torch.empty(len(values), most, dtype=torch.int64)
    kernels.best_places(values.numpy(), best.numpy(), places.numpy(), thread_count())
    return best, places


def best_places_python(values: Tensor, most: int) -> tuple[Tensor, Tensor]:
    """The readable twin of the kernel: `topk` finds the last value that is taken, places decide who has it."""
    values = torch.where(values.isnan(), -torch.inf, values)
    last = values.topk(most).values[:, -1:]
    above, level = values > last, values == last
    chosen = above | (level & (level.cumsum(1) <= most - above.sum(1, keepdim=True)))
    places = chosen.nonzero()[:, 1].view(len(values), most)
    best, order = values.gather(1, places).sort(dim=1, descending=True, stable=True)
    return best, places.gather(1, order)


def score_spans(start: Tensor, end: Tensor, weight: Tensor, d: Decoding) -> Spans:
    """The best spans by w · p_st · p_ed; on equal scores by row, first, last. start, end: probabilities [Q, R, T];
    weight [Q, R], 0: no row."""
    Q, R, T = start.shape
    lengths = max(0, min(d.max_length, T) - d.min_length)
    kernels = kernels_for(start, end, weight) if d.unravel is None else None
    if kernels is None or not lengths or not R:
        return score_spans_python(start, end, weight, d)
    K = min(d.before_nms, R * T * lengths)
    row, first, last = (torch.empty(Q, K, dtype=torch.int64) for _ in range(3))
    spans = Spans(row, first, last, start.new_empty(Q, K))
    arrays = (t.numpy() for t in (start, end, weight))
    kernels.best_spans(*arrays, d.min_length, d.max_length, *(t.numpy() for t in spans), thread_count())
    return spans


def score_spans_python(start: Tensor, end: Tensor, weight: Tensor, d: Decoding) -> Spans:
    """The readable twin of the kernel: the scores of all spans, of a few queries at a time."""
    Q, R, T = start.shape
    lengths = range(d.min_length, min(d.max_length, T))
    if not len(lengths) or not R:
        none = torch.zeros(Q, 0, dtype=torch.int64, device=start.device)
        return Spans(none, none, none, start.new_zeros(Q, 0))
    step = max(1, ROOM // (R * T * (T if d.unravel is not None else len(lengths))))
    parts = []
    for i in range(0, Q, step):
        begun, ends = start[i : i + step] * weight[i : i + step, :, None], end[i : i + step]
        parts.append(span_table(begun, ends, d) if d.unravel is None else unravelled_table(begun, ends, d))
    return Spans(*(torch.cat(columns) for columns in zip(*parts, strict=True)))


def span_table(begun: Tensor, end: Tensor, d: Decoding) -> Spans:
    """[Q, R, T, D]: start · weight, and the end probability `length` clips after the start, 0 beyond the last clip."""
    T = begun.shape[-1]
    lengths = torch.arange(d.min_length, min(d.max_length, T), device=begun.device)
    n = torch.arange(T, device=begun.device)[:, None] + lengths
    joint = begun[..., None] * torch.where(n < T, end[..., n.clamp(max=T - 1)], 0.0)
    flat = torch.where(joint > 0, joint, 0.0).flatten(1)
    score, at = best_places_python(flat, min(d.before_nms, flat.shape[1]))
    D = len(lengths)
    first = at // D % T
    places = (at // (T * D), first, first + at % D + d.min_length)
    row, first, last = (torch.where(score > 0, place, 0) for place in places)
    return Spans(row, first, last, score)


def unravelled_table(begun: Tensor, end: Tensor, d: Decoding) -> Spans:
    """The same as published: the table of all starts and ends, whose flat places are read with another width."""
    T, L = begun.shape[-1], d.unravel
    assert L is not None
    n = torch.arange(T, device=begun.device)
    length = n - n[:, None]
    allowed = (length >= d.min_length) & (length < d.max_length)
    flat = (begun[..., None] * end[..., None, :] * allowed).flatten(1)  # [Q, R·T·T]
    score, at = best_places_python(flat, min(d.before_nms, flat.shape[1]))
    return Spans(at // (L * L), at // L % L, at % L, score)


def suppress_spans(span: Tensor, video: Tensor, score: Tensor, threshold: float) -> Tensor:
    """Which moments stay, best first: none that overlaps a better one that stays, of its video, by IoU > threshold.

    [Q, K, 2] double, [Q, K], [Q, K] → [Q, K] bool. Sorted by score; match/nms.py for many queries at once.
    """
    kernels = kernels_for()
    if kernels is None or span.device.type != "cpu" or span.dtype != torch.float64:
        return suppress_spans_python(span, video, score, threshold)
    stays = (score > 0).contiguous()
    arrays = (t.contiguous().numpy() for t in (span, video))
    kernels.suppress_spans(*arrays, threshold, stays.numpy(), thread_count())
    return stays


def suppress_spans_python(span: Tensor, video: Tensor, score: Tensor, threshold: float) -> Tensor:
    """The readable twin of the kernel."""
    K = span.shape[1]
    stays = score > 0
    starts, ends = span[..., 0].contiguous(), span[..., 1].contiguous()
    for i in range(K - 1):
        rest = slice(i + 1, None)
        s, e, s_i, e_i = starts[:, rest], ends[:, rest], starts[:, i : i + 1], ends[:, i : i + 1]
        shared = (torch.minimum(e, e_i) - torch.maximum(s, s_i)).clamp(min=0)
        hull = (torch.maximum(e, e_i) - torch.minimum(s, s_i)).clamp(min=1e-12)
        over = (shared / hull > threshold) & (video[:, rest] == video[:, i : i + 1])
        stays[:, rest] &= ~(over & stays[:, i : i + 1])
    return stays


def keep_best(moments: RankedMoments, stays: Tensor, most: int) -> RankedMoments:
    """The first `most` of those that stay, in their order; 0 behind them."""
    order = (~stays).to(torch.uint8).argsort(dim=1, stable=True)[:, :most]
    score = torch.where(stays, moments.score, 0.0).gather(1, order)
    return RankedMoments(
        moments.video.gather(1, order), moments.span.gather(1, order[..., None].expand(-1, -1, 2)), score
    )


def rank_moments(moments: RankedMoments, d: Decoding, known: bool = False) -> tuple[RankedMoments, RankedMoments]:
    """The list as it is, and after NMS: at most `after_nms` moments each. `known`: a query's are of one video."""
    there = moments.score > 0
    listed = keep_best(moments, there, d.after_nms)
    if d.nms is None:
        return listed, listed
    read = listed if d.nms_reads == "listed" else moments
    if known and d.own_nms == "shifted":
        return listed, shift_suppress(read, d)
    return listed, keep_best(read, suppress_spans(read.span, read.video, read.score, d.nms), d.after_nms)


def shift_suppress(moments: RankedMoments, d: Decoding) -> RankedMoments:
    """ReLoCLNet's slip: windows [video number, start] are compared, and the end time sorts."""
    assert d.nms is not None
    video, span, score = (torch.zeros_like(x) for x in moments)
    for q in range(len(moments.score)):
        n = int((moments.score[q] > 0).sum())
        order = shifted_nms(
            moments.span[q, :n].numpy(), moments.score[q, :n].numpy(), d.nms, moments.video[q, :n].numpy()
        )
        at = torch.from_numpy(order[: d.after_nms])
        for new, old in zip((video, span, score), moments, strict=True):
            new[q, : len(at)] = old[q][at]
    return RankedMoments(video, span, score)


def to_seconds(spans: Spans, offset: Tensor, duration: Tensor, d: Decoding) -> Tensor:
    """[Q, K, 2] seconds on the video's own time line; offset (clips), duration (seconds) of each span's row [Q, K]"""
    first, last = (spans.first + offset).cpu().numpy(), (spans.last + offset).cpu().numpy()
    seconds = torch.from_numpy(np.ascontiguousarray(clip_seconds(first, last, d.clip, d.end)))
    if d.late == "cut":
        seconds = torch.minimum(seconds, duration.cpu().double()[..., None])
    return seconds
