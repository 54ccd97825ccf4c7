"""Full definition of XML (Lei et al., TVR, ECCV 2020) in its video-only form; _layers.py has what models share.

Cross-modal moment localisation: a query is one vector; its best cosine with a video's clips finds the video, its
similarity with every clip, read by two small convolutions, finds where the moment starts and ends.

    query [B, L, E] → LN, linear, ReLU, + positions, one attention block → words → pooled q [B, H]
    video [B, T, C] → LN, linear, ReLU, + positions, block 1 → F1 [B, T, H] → blocks 2, 3 → F2 [B, T, H]
    s(q, v) = max_t cos(q, F1_t)          z_t = F2_t · (W q)          start, end = conv5(z), conv5′(z)
    loss = .01 (CE start + CE end) + hinge(query, another video) + hinge(another query, video)

Decided where the published code (github.com/jayleicn/TVRetrieval) is broken or silent; each is an option:

- `pads`: there the convolutions read the similarities of padded clips, so that a short video's answer depends on what
  it is batched with (probabilities move by up to .67). Here z is 0 behind the end, as beyond any sequence; "seen" is
  theirs.
- `labels`, `end`: there a moment's last clip is labelled ⌈t/clip⌉, one past its end, and decoding adds one clip more.
  Here the last clip is the last that the moment touches, and decoding ends after it; labels="ceil" is theirs.
- `rivals`: there another query of the same video counts as a negative. Here it does not; "all" is theirs.
- Dropout of the attention's weights, of its output, of positions and of the input is one number there and here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from fabula.learn.models._layers import (
    CorpusModel,
    Positions,
    Projection,
    SmallConfig,
    check_heads,
    find_rivals,
    rank_gap,
    reset_normal,
)
from fabula.learn.retrieval.contract import Batch, Ends, Labels, Queries, Videos, convolve, hide


@dataclass(frozen=True)
class Config(SmallConfig):
    """XML without subtitles, lengths and NMS as VERIFIED sets them for Charades-FIG; `tiny()` is for a laptop."""

    scope = "corpus"  # a query is searched in all videos
    feature_dim: int = 2048  # C: ResNet-152, the maximum of 4 frames a second
    query_dim: int = 768  # E: RoBERTa
    max_words: int = 30  # L: longer queries are cut
    max_clips: int = 48  # T: longer videos are cut into windows (DiDeMo 30, ActivityNet 240)
    clip: float = 1.0  # seconds
    hidden: int = 256  # H
    heads: int = 4
    kernel: int = 5  # width of the start and end convolutions
    dropout: float = 0.1
    normalize: bool = True  # clips and words are scaled to length 1 as they are read
    words: Literal["store", "hashing"] = "store"  # vectors of words: from a store, or made of the words' letters
    long: Literal["windows", "cut", "mean"] = "windows"  # what is done with longer videos (retrieval/data.py)
    # losses
    weight_span: float = 0.01
    weight_videos: float = 1.0  # hinge against another video
    weight_queries: float = 1.0  # hinge against another query
    ranking: Literal["hinge", "lse"] = "hinge"  # lse: log(1 + exp(negative − positive))
    margin: float = 0.1
    rivals: Literal["other", "all"] = "other"  # who may be a negative: see top
    hard_from: int = 20  # from this epoch on negatives are drawn from the hardest …
    hard_pool: int = 20  # … so many of the batch
    span_from: int = 0  # before this epoch nothing is learnt about spans
    # from clips to seconds and back
    labels: Labels = "inside"
    end: Ends = "inside"
    pads: Literal["hidden", "seen"] = "hidden"  # what the convolutions find behind a video's end: see top
    # inference
    alpha: float = 20.0  # a video's weight is exp(alpha · score)
    min_length: int = 2  # min_length ≤ last − first < max_length, in clips (DiDeMo 5 and 30, ActivityNet 1 and 180)
    max_length: int = 12
    nms: float = 0.6  # (DiDeMo .6, ActivityNet .5)

    small: ClassVar = {"hidden": 64, "heads": 4, "max_words": 24, "dropout": 0.0}  # of `tiny`, for a laptop


# ---------------------------------------------------------------------------------------------------------------------
# Layers, of which ReLoCLNet is made too; those of other models are in _layers.py


class Attention(nn.Module):
    """softmax(Q Kᵀ/√d − 10⁴ where masked) V, by heads. `mask` [B, 1 or T, T]"""

    def __init__(self, hidden: int, heads: int, dropout: float) -> None:
        super().__init__()
        check_heads(hidden, heads)
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        def split(y: Tensor) -> Tensor:
            return y.view(*y.shape[:2], self.heads, -1).transpose(1, 2)  # [B, heads, T, d]

        q, k, v = split(self.query(x)), split(self.key(memory)), split(self.value(memory))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])  # [B, heads, T, T]
        scores = scores + (1.0 - mask[:, None].to(scores.dtype)) * -10_000.0
        y: Tensor = (self.dropout(scores.softmax(-1)) @ v).transpose(1, 2).flatten(-2)
        return y


class Block(nn.Module):
    """LN(x + dropout(W attention(x))): BERT's attention without the feed-forward half. [B, T, H]"""

    def __init__(self, hidden: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = Attention(hidden, heads, dropout)
        self.out, self.dropout, self.norm = nn.Linear(hidden, hidden), nn.Dropout(dropout), nn.LayerNorm(hidden)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        y: Tensor = self.norm(x + self.dropout(self.out(self.attention(x, x, mask[:, None]))))
        return y


def pool_words(words: Tensor, weight: Tensor, mask: Tensor) -> Tensor:
    """Σ_l softmax(weight)_l words_l over the words there are. [B, L, H], [B, L], [B, L] → [B, H]"""
    a = hide(weight, mask).softmax(-1)
    return torch.einsum("bl,blh->bh", a, words)


class Boundaries(nn.Module):
    """Start and end of every clip from its similarity with the query, by two convolutions."""

    def __init__(self, kernel: int, pads: str) -> None:
        super().__init__()
        self.start = nn.Conv1d(1, 1, kernel, padding=kernel // 2, bias=False)
        self.end = nn.Conv1d(1, 1, kernel, padding=kernel // 2, bias=False)
        self.pads = pads

    def forward(self, similarity: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """[..., T], [..., T] → start, end [..., T]"""
        if self.pads == "hidden":
            similarity = similarity.masked_fill(~mask, 0.0)
        start, end = (hide(convolve(similarity, conv), mask) for conv in (self.start, self.end))
        return start, end


# ---------------------------------------------------------------------------------------------------------------------
# Losses


def span_loss(start: Tensor, end: Tensor, spans: Tensor) -> Tensor:
    """CE(start) + CE(end), mean over the batch. [B, T], [B, T], [B, 2]"""
    return F.cross_entropy(start, spans[:, 0]) + F.cross_entropy(end, spans[:, 1])


def draw_negatives(scores: Tensor, rivals: Tensor, pool: int | None) -> tuple[Tensor, Tensor]:
    """A negative for every row [B]: any rival, or one of the `pool` with the highest scores; and whether there is
    one at all [B]."""
    order = scores.detach().masked_fill(~rivals, -math.inf).argsort(1, descending=True)  # rivals first, hardest first
    free = rivals.sum(1)
    among = free if pool is None else free.clamp(max=pool)
    rank = (torch.rand(len(free), device=scores.device) * among).long()
    return order.gather(1, rank[:, None])[:, 0], free > 0


def ranking_loss(positive: Tensor, negative: Tensor, there: Tensor, config: Config) -> Tensor:
    """Mean of max(0, margin + s⁻ − s⁺), or of log(1 + exp(s⁻ − s⁺)); 0 where there is no negative. [B] each"""
    each = rank_gap(positive, negative, config.ranking, config.margin)
    return (each * there).sum() / len(each)


def retrieval_losses(scores: Tensor, batch: Batch, config: Config, hard: bool) -> dict[str, Tensor]:
    """Both hinges of a batch, unweighted. scores [B, B]: queries × videos"""
    pool = config.hard_pool if hard else None
    rivals = find_rivals(batch.videos, len(scores), config.rivals, scores.device)
    positive, rows = scores.diagonal(), torch.arange(len(scores), device=scores.device)
    if batch.negatives is None:
        video, drawn = draw_negatives(scores, rivals, pool)
        query, any_ = draw_negatives(scores.T, rivals.T, pool)
    else:
        video, query = batch.negatives
        drawn = any_ = torch.ones_like(positive, dtype=torch.bool)
    return {
        "videos": ranking_loss(positive, scores[rows, video], drawn, config),
        "queries": ranking_loss(positive, scores[query, rows], any_, config),
    }


# ---------------------------------------------------------------------------------------------------------------------
# The model


class Retriever(CorpusModel):
    """What XML and ReLoCLNet share."""

    config: Config

    def begin(self, epoch: int, step: int) -> None:
        """Hard negatives and spans are trained from a certain epoch on."""
        self.hard, self.spans_on = epoch >= self.config.hard_from, epoch >= self.config.span_from


class Model(Retriever):
    name: ClassVar[str] = "xml"
    config_class: ClassVar[type[Config]] = Config
    inference: ClassVar[tuple[str, ...]] = ("alpha", "min_length", "max_length", "nms")
    reads: ClassVar[Literal["features", "ids"]] = "features"
    encodes_pads: ClassVar[bool] = False
    recipe: ClassVar[Mapping[str, object]] = {
        "epochs": 100, "batch_size": 128, "optimizer": "bertadam", "lr": 1e-4, "weight_decay": 0.01, "eps": 1e-6,
        "schedule": "linear", "warmup": 0.01, "clip_norm": 1.0, "patience": 10,
    }  # fmt: skip

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config, self.hard, self.spans_on = config, False, config.span_from == 0
        H, p = config.hidden, config.dropout
        self.query_project = Projection(config.query_dim, H, p)
        self.query_positions = Positions(config.max_words, H, p)
        self.query_block = Block(H, config.heads, p)
        self.pool = nn.Linear(H, 1, bias=False)
        self.video_project = Projection(config.feature_dim, H, p)
        self.video_positions = Positions(config.max_clips, H, p)
        self.video_blocks = nn.ModuleList(Block(H, config.heads, p) for _ in range(3))
        self.span_query = nn.Linear(H, H)
        self.boundaries = Boundaries(config.kernel, config.pads)
        reset_normal(self.modules())

    def encode_query(self, query: Tensor, mask: Tensor) -> Queries:
        words = self.query_block(self.query_positions(self.query_project(query)), mask)  # [Q, L, H]
        q = pool_words(words, self.pool(words)[..., 0], mask)  # [Q, H]
        return Queries(F.normalize(q, dim=-1), self.span_query(q))

    def encode_video(self, features: Tensor, mask: Tensor) -> Videos:
        first, second, third = self.video_blocks
        f1 = first(self.video_positions(self.video_project(features)), mask)  # [N, T, H]
        f2 = third(second(f1, mask), mask)
        return Videos(F.normalize(f1, dim=-1), f2, mask)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """.01 (CE start + CE end) + hinge against a video + hinge against a query; each term is logged unweighted."""
        c = self.config
        assert batch.spans is not None
        queries = self.encode_query(batch.query, batch.query_mask)
        videos = self.encode_video(batch.video, batch.video_mask)
        parts = {
            "span": span_loss(*self.span_logits(queries.spans, videos.spans, videos.mask), batch.spans),
            **retrieval_losses(self.video_scores(queries, videos), batch, c, self.hard),
        }
        weights = {"span": c.weight_span * self.spans_on, "videos": c.weight_videos, "queries": c.weight_queries}
        return {"loss": weigh(parts, weights), **parts}


def weigh(parts: Mapping[str, Tensor], weights: Mapping[str, float]) -> Tensor:
    """Σ weight · part."""
    return torch.stack([weights[name] * part for name, part in parts.items()]).sum()


# ---------------------------------------------------------------------------------------------------------------------
# Published weights: their names, and ours

BLOCK = (  # parts of an attention block
    (r"self\.(\w+)\.(\w+)", r"attention.\1.\2"),
    (r"output\.dense\.(\w+)", r"out.\1"),
    (r"output\.LayerNorm\.(\w+)", r"norm.\1"),
)
READING = (  # words and clips, before the blocks
    *((rf"{theirs}_input_proj\.LayerNorm\.(\w+)", rf"{theirs}_project.norm.\1") for theirs in ("query", "video")),
    *((rf"{theirs}_input_proj\.net\.1\.(\w+)", rf"{theirs}_project.linear.\1") for theirs in ("query", "video")),
    *((rf"{theirs}_pos_embed\.position_embeddings\.(\w+)", rf"{ours}_positions.table.\1")
      for theirs, ours in (("query", "query"), ("ctx", "video"))),
    *((rf"{theirs}_pos_embed\.LayerNorm\.(\w+)", rf"{ours}_positions.norm.\1")
      for theirs, ours in (("query", "query"), ("ctx", "video"))),
    *((rf"video_encoder{i + 1}\.{theirs}", f"video_blocks.{i}.{ours}")
      for i in range(3) for theirs, ours in BLOCK),
    (r"modular_vector_mapping\.(\w+)", r"pool.\1"),
    (r"video_query_linear\.(\w+)", r"span_query.\1"),
)  # fmt: skip
OFFICIAL: tuple[tuple[str, str], ...] = (
    *READING,
    *((rf"query_encoder\.{theirs}", f"query_block.{ours}") for theirs, ours in BLOCK),
    (r"video_st_predictor\.(\w+)", r"boundaries.start.\1"),
    (r"video_ed_predictor\.(\w+)", r"boundaries.end.\1"),
)
UNUSED: tuple[str, ...] = ()


def read_sizes(state: Mapping[str, Tensor]) -> dict[str, object]:
    """The fields of Config that follow from the shapes of a state under our names; heads do not."""
    H, C = state["video_project.linear.weight"].shape
    return {
        "feature_dim": C, "hidden": H, "query_dim": state["query_project.linear.weight"].shape[1],
        "max_words": len(state["query_positions.table.weight"]), "kernel": state["boundaries.start.weight"].shape[-1],
        "max_clips": len(state["video_positions.table.weight"]),
    }  # fmt: skip
