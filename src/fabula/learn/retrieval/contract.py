"""What every model that finds moments shares: the batch, the encodings, the four methods; one search serves them all.

    Queries  = encode_query(query, mask)          Videos = encode_video(features, mask)
    s  [Q, N] = video_scores(queries, videos)     how well each video answers each query (a cosine)
    st, ed    = boundaries(query · clips, mask)   of every clip: does the moment begin, end here

Nothing here depends on a model. Dims: B queries of a batch, L words, N videos, T clips, H the model's width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from fabula import _kernels
from fabula.learn import batch as shared

Labels = Literal["inside", "ceil", "hero"]
Ends = Literal["inside", "past"]


class Negatives(NamedTuple):
    """Fixed negatives, for tests: rows of the batch."""

    videos: Tensor  # [B] the negative video of each query
    queries: Tensor  # [B] the negative query of each video


@dataclass
class Batch(shared.Batch):
    """B queries, named by their ids, with the video each is about. Two rows may be about the same video."""

    query: Tensor  # [B, L, E] features of words; [B, L] ids of words where the model says `reads = "ids"`
    query_mask: Tensor  # [B, L] bool
    video: Tensor  # [B, T, C] clips
    video_mask: Tensor  # [B, T] bool
    durations: Tensor  # [B] seconds, of what `video` shows
    spans: Tensor | None = None  # [B, 2] first and last clip, by the model's rule of labels
    windows: list[Tensor] = field(default_factory=list)  # [B] × [W, 2] seconds: all of a query's windows
    saliency: Tensor | None = None  # [B, T] how good a highlight each clip is; below 0: not judged
    videos: list[str] = field(default_factory=list)  # [B] the videos' ids
    negatives: Negatives | None = None


@dataclass
class Queries:
    """Encoded queries: one vector to find the video by, one to find the clips by."""

    search: Tensor  # [Q, H] of length 1
    spans: Tensor  # [Q, H]

    def __len__(self) -> int:
        return len(self.search)

    def __getitem__(self, at: slice | Tensor) -> Queries:
        return Queries(self.search[at], self.spans[at])


@dataclass
class Videos:
    """Encoded videos, or windows of them. `search` and `spans` may be one tensor."""

    search: Tensor  # [N, T, H] clips of length 1, to find the video by
    spans: Tensor  # [N, T, H] clips, to find the moment by
    mask: Tensor  # [N, T] bool

    def __len__(self) -> int:
        return len(self.mask)

    def __getitem__(self, at: slice | Tensor) -> Videos:
        return Videos(self.search[at], self.spans[at], self.mask[at])


class Config(Protocol):
    """The fields of a retriever's Config that data and search read; a model has more of its own."""

    feature_dim: int  # C
    query_dim: int  # E; 0 where the model reads ids
    max_words: int  # L at most
    max_clips: int  # T at most: longer videos are cut into windows
    clip: float  # seconds
    labels: Labels  # how a window in seconds becomes two clips: data.label_spans
    end: Ends  # how two clips become seconds: core.moments.clip_seconds
    alpha: float  # a video's weight is exp(alpha · score)
    min_length: int  # min_length ≤ last − first < max_length, in clips
    max_length: int
    nms: float  # windows of one video that overlap a better one by more are left out
    words: Literal["store", "hashing"]  # of a model that reads features; one that reads ids has `vocabulary` instead
    long: Literal["windows", "cut", "mean"]  # what is done with longer videos (data.py)
    normalize: bool  # clips and words are scaled to length 1 as they are read: x / (‖x‖ + 1e-5)


class Retriever(Protocol):
    """A model that one decoder and one corpus search can use."""

    reads: ClassVar[Literal["features", "ids"]]  # what `Batch.query` holds
    config: Any
    training: bool

    def parameters(self) -> Iterator[nn.Parameter]:
        """Of the module."""

    def train(self, mode: bool = True) -> object:
        """Of the module."""

    def encode_query(self, query: Tensor, mask: Tensor) -> Queries:
        """[Q, L, E] or [Q, L], [Q, L] → Queries"""

    def encode_video(self, features: Tensor, mask: Tensor) -> Videos:
        """[N, T, C], [N, T] → Videos"""

    def video_scores(self, queries: Queries, videos: Videos) -> Tensor:
        """[Q, N]: usually `best_clip(queries.search, videos.search, videos.mask)`"""

    def boundaries(self, similarity: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """query · clip of every clip [..., T], and which there are [..., T] → start, end [..., T].

        Padded clips have logits low enough that a softmax gives them 0.
        """

    def span_logits(self, query: Tensor, clips: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The same of Queries.spans [..., H] and Videos.spans [..., T, H], whose leading dims broadcast: training."""


NOTHING = -1e10  # the score of a clip that is not there
CLIPS_A_BLOCK = 2048  # clips that are multiplied with a block of queries at a time


def hide(scores: Tensor, mask: Tensor) -> Tensor:
    """The scores, NOTHING where the mask is False: in float16, which ends at 65,504, half of the lowest number."""
    return scores.masked_fill(~mask, max(NOTHING, torch.finfo(scores.dtype).min / 2))


def best_clip(query: Tensor, clips: Tensor, mask: Tensor) -> Tensor:
    """max over a video's clips of query · clip. [Q, H], [N, T, H], [N, T] → [Q, N]"""
    if torch.is_inference_mode_enabled() and clips.device.type == "cpu" and query.dtype == clips.dtype:
        return best_clip_there(query, clips, mask)
    every = torch.einsum("qh,nth->qnt", query, clips)
    return hide(every, mask).amax(-1)


def best_clip_there(query: Tensor, clips: Tensor, mask: Tensor) -> Tensor:
    """The same without gradients: only clips that are there are multiplied, a block that a cache holds at a time."""
    Q, (N, T, H) = len(query), clips.shape
    step = max(1, CLIPS_A_BLOCK // max(1, T))
    counts, best = mask.sum(1), query.new_empty(Q, N)
    chosen, products = clips.new_empty(step * T, H), query.new_empty(Q * step * T)  # used again by every block
    for i in range(0, N, step):
        few = slice(i, i + step)
        flat, n = clips[few].flatten(0, 1), int(counts[few].sum())
        if n < len(flat):
            flat = torch.index_select(flat, 0, mask[few].flatten().nonzero()[:, 0], out=chosen[:n])
        torch.mm(query, flat.T, out=products[: Q * n].view(Q, n))
        best[:, few] = best_of_stretches(products[: Q * n].view(Q, n), counts[few])
    return best


def convolve(z: Tensor, conv: nn.Conv1d) -> Tensor:
    """A convolution of one channel, along the last dim. [..., T]

    Without gradients by its few taps, one after the other: torch's takes ten times as long for one channel.
    """
    if torch.is_grad_enabled():
        y: Tensor = conv(z.reshape(-1, 1, z.shape[-1]))
        return y.view(z.shape)
    taps = conv.weight.flatten().tolist()
    padded, T = F.pad(z, (len(taps) // 2, len(taps) // 2)), z.shape[-1]
    out: Tensor = padded[..., :T] * taps[0]
    for k, tap in enumerate(taps[1:], 1):
        out.add_(padded[..., k : k + T], alpha=tap)
    return out


def best_of_stretches(values: Tensor, counts: Tensor) -> Tensor:
    """The largest of each stretch of a row, NOTHING of an empty one. [Q, M], lengths [B] → [Q, B]"""
    if (kernels := kernels_for(values)) is None:
        return best_of_stretches_python(values, counts)
    best = values.new_empty(len(values), len(counts))
    kernels.best_of_stretches(values.numpy(), counts.numpy(), best.numpy(), NOTHING, thread_count())
    return best


def best_of_stretches_python(values: Tensor, counts: Tensor) -> Tensor:
    """The readable twin of the kernel."""
    best = values.new_full((len(values), len(counts)), NOTHING)
    whose = torch.arange(len(counts)).repeat_interleave(counts).expand(len(values), -1)
    return best.scatter_reduce_(1, whose, values, "amax")


def kernels_for(*tensors: Tensor) -> ModuleType | None:
    """The compiled kernels if they serve these tensors: float32 on the CPU, one number behind the other."""
    served = all(t.device.type == "cpu" and t.dtype == torch.float32 and t.is_contiguous() for t in tensors)
    return _kernels.native() if served and not any(t.requires_grad for t in tensors) else None


def thread_count() -> int:
    """How many threads a kernel may use here: what the process may use, and no more than torch uses (1 in workers)."""
    return min(_kernels.threads(), torch.get_num_threads())


def pad_rows(rows: Sequence[Tensor], length: int | None = None) -> tuple[Tensor, Tensor]:
    """Rows [n, C] or [n] of different lengths one above the other, 0 behind their ends: [B, T, …], and the mask."""
    T = length or max(len(r) for r in rows)
    mask = torch.arange(T) < torch.tensor([len(r) for r in rows])[:, None]
    return torch.stack([F.pad(r, (0, 0) * (r.ndim - 1) + (0, T - len(r))) for r in rows]), mask
