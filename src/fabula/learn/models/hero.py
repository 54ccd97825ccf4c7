"""Full definition of HERO for moment retrieval (Li et al., EMNLP 2020), video-only form.

One cross-modal transformer reads frames and words, a temporal transformer reads the frames once more in order; a query
is words through the first of the two. As in XML, the best cosine with a frame finds the video, and two convolutions
over the similarity with every frame find where the moment starts and ends.

    video [B, T, C] → frames, then one empty subtitle (CLS) → cross-modal transformer → frames x [B, T, H]
                      x + ReLU(W LN(video)), + positions → temporal transformer → F [B, T, H]
    query [B, L] ids → CLS, words → the same cross-modal transformer → attention block → pooled q [B, H]
    s(q, v) = max_t cos(q, F_t)           z_t = F_t · (W q)          start, end = conv5(z), conv5′(z)
    loss = .01 (CE start + CE end) + 10 · hinge(query, other videos) + 10 · hinge(other queries, video)

Everything that HeroForVcmr's forward uses is here. Of its state the poolers, the heads of pre-training (words,
features, order) and the two mask embeddings are read by nothing there and are not built; UNUSED names them.

Decided where the published code (github.com/linjieli222/HERO) is broken or silent; each is an option:

- `pads`: there the convolutions read the similarities of padded frames, so that a short video's answer depends on what
  it is batched with. Here z is 0 behind the end; "seen" is theirs.
- `labels`: there a moment has at least two frames even if it lies in one, because decoding asks for `min_length` ≥ 1.
  Here the last frame is the last that the moment touches; "hero" is theirs.
- `rivals`: there another query of the same video is a negative. Here it is not; "all" is theirs.
- Hard negatives: from step `hard_from` the `hard_pool` hardest weigh ×10, the others ×.1 (there as here).
- `drop_span`: there a step learns spans with probability .2 alone. Here the same; a step that does not costs less.
- Words are ids of the config's vocabulary, or of RoBERTa's where the published weights are used: 0 begins, 1 pads.
- With features of another width than the published 4352, the two layers that read them begin at random; so do the
  places of frames beyond the published 100.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from fabula.core.errors import SpecError
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
from fabula.learn.retrieval.contract import Batch, Ends, Labels, Queries, Videos, convolve

CLS, PAD = 0, 1  # RoBERTa's <s> and <pad>
NOTHING = -1e4  # logit of a frame that is not there, and what attention adds where nothing may be seen


@dataclass(frozen=True)
class Config(SmallConfig):
    """HERO as published, lengths and NMS as VERIFIED sets them for Charades-FIG; `Config.tiny()` is for a laptop."""

    scope = "corpus"  # a query is searched in all videos
    feature_dim: int = 2048  # C: ResNet-152 (published: ResNet-152 + SlowFast, 4352)
    query_dim: int = 0  # the model reads ids of words
    vocabulary: tuple[str, ...] = ()  # words by id, the last is the unknown word; 0 is CLS, 1 is padding
    vocab_size: int = 50272  # ids that there are, where `vocabulary` is empty
    max_words: int = 60  # L: longer queries are cut
    max_clips: int = 48  # T: longer videos are cut into windows (DiDeMo 30, ActivityNet 240)
    clip: float = 1.0  # seconds (published 1.5)
    hidden: int = 768  # H
    heads: int = 12
    feedforward: int = 3072  # width of the feed-forward layers
    cross_layers: int = 6  # of the cross-modal transformer
    time_layers: int = 3  # of the temporal transformer
    positions: int = 514  # that words, frames in time and query words can have
    frame_positions: int = 100  # that frames can have in the cross-modal transformer (ActivityNet 240)
    kernel: int = 5  # width of the start and end convolutions
    dropout: float = 0.1
    attention_dropout: float = 0.1
    normalize: bool = False  # frames are read as they are
    long: Literal["windows", "cut", "mean"] = "windows"  # what is done with longer videos (retrieval/data.py)
    # losses
    weight_span: float = 0.01
    weight_videos: float = 10.0  # hinge against other videos (TVR: 8)
    weight_queries: float = 10.0  # hinge against other queries (TVR: 8)
    ranking: Literal["hinge", "lse"] = "hinge"  # lse: log(1 + exp(negative − positive))
    margin: float = 0.1
    negatives: Literal["all", "one"] = "all"  # of the batch, or one that is drawn
    rivals: Literal["other", "all"] = "other"  # who may be a negative: see top
    hard_from: int = 2000  # from this step on hard negatives weigh more, or are drawn …
    hard_pool: int = 20  # … which are the hardest so many of the batch (DiDeMo 80)
    hard_weight: float = 10.0
    soft_weight: float = 0.1  # of the others, then
    drop_span: float = 0.8  # share of the steps that learn nothing about spans
    span_from: int = 0  # nor does any before this one
    # from clips to seconds and back
    labels: Labels = "inside"
    end: Ends = "inside"
    pads: Literal["hidden", "seen"] = "hidden"  # what the convolutions find behind a video's end: see top
    # inference
    alpha: float = 20.0  # a video's weight is exp(alpha · score)
    min_length: int = 2  # min_length ≤ last − first < max_length, in clips (DiDeMo 5 and 30, ActivityNet 1 and 180)
    max_length: int = 12
    nms: float = 0.6  # (DiDeMo .6, ActivityNet .5)

    small: ClassVar = {
        "hidden": 64,
        "heads": 4,
        "feedforward": 128,
        "cross_layers": 2,
        "time_layers": 1,
        "positions": 256,
        "max_words": 24,
        "dropout": 0.0,
        "attention_dropout": 0.0,
        "drop_span": 0.0,
    }  # of `tiny`, for a laptop

    @property
    def ids(self) -> int:
        """How many ids of words there are."""
        return len(self.vocabulary) or self.vocab_size


# ---------------------------------------------------------------------------------------------------------------------
# Layers of BERT


class Attention(nn.Module):
    """LN(x + W softmax(Q Kᵀ/√d − 10⁴ where there is nothing) V), by heads. [B, T, H]"""

    def __init__(self, config: Config) -> None:
        super().__init__()
        H = config.hidden
        self.heads = config.heads
        self.query, self.key, self.value, self.out = (nn.Linear(H, H) for _ in range(4))
        self.norm = nn.LayerNorm(H, eps=1e-12)
        self.drop, self.drop_weights = nn.Dropout(config.dropout), nn.Dropout(config.attention_dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        B, T, H = x.shape
        q, k, v = (f(x).view(B, T, self.heads, -1).transpose(1, 2) for f in (self.query, self.key, self.value))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])  # [B, heads, T, T]
        scores = scores + (1.0 - mask[:, None, None].to(x.dtype)) * NOTHING
        mixed = (self.drop_weights(scores.softmax(-1)) @ v).transpose(1, 2).reshape(B, T, H)
        y: Tensor = self.norm(x + self.drop(self.out(mixed)))
        return y


class Layer(nn.Module):
    """x ← attention(x);  x ← LN(x + W2 GELU(W1 x)). [B, T, H]"""

    def __init__(self, config: Config) -> None:
        super().__init__()
        H = config.hidden
        self.attention = Attention(config)
        self.up, self.down = nn.Linear(H, config.feedforward), nn.Linear(config.feedforward, H)
        self.norm, self.drop = nn.LayerNorm(H, eps=1e-12), nn.Dropout(config.dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.attention(x, mask)
        y: Tensor = self.norm(x + self.drop(self.down(F.gelu(self.up(x)))))
        return y


class Stack(nn.Module):
    """Layers, one after the other."""

    def __init__(self, config: Config, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(config) for _ in range(layers))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, mask)
        return x


class CrossModal(nn.Module):
    """Frames and words in one transformer: word + position + type, W LN(frame) + position + type.

    Words and frames have the same type, the second of two, as published.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        H = config.hidden
        self.words = nn.Embedding(config.ids, H, padding_idx=PAD)
        self.types = nn.Embedding(2, H)
        self.word_positions = Positions(config.positions, config.hidden, config.dropout)
        self.frame_norm, self.frame_linear = nn.LayerNorm(config.feature_dim), nn.Linear(config.feature_dim, H)
        self.frame_positions = Positions(config.frame_positions, config.hidden, config.dropout)
        self.stack = Stack(config, config.cross_layers)

    def embed_words(self, ids: Tensor) -> Tensor:
        """[B, L] → [B, L, H]"""
        x: Tensor = self.word_positions(self.words(ids) + self.types.weight[1])
        return x

    def embed_frames(self, frames: Tensor) -> Tensor:
        """[B, T, C] → [B, T, H]"""
        x: Tensor = self.frame_positions(self.frame_linear(self.frame_norm(frames)) + self.types.weight[1])
        return x

    def read_words(self, ids: Tensor, mask: Tensor) -> Tensor:
        x: Tensor = self.stack(self.embed_words(ids), mask)
        return x

    def read_frames(self, frames: Tensor, mask: Tensor) -> Tensor:
        """Frames beside an empty subtitle, one CLS; 0 where there is no frame. [B, T, C] → [B, T, H]"""
        empty = self.embed_words(torch.full_like(mask[:, :1], CLS, dtype=torch.int64))  # [B, 1, H]
        x = torch.cat([self.embed_frames(frames), empty], 1)
        x = self.stack(x, torch.cat([mask, torch.ones_like(mask[:, :1])], 1))
        frames_read: Tensor = x[:, :-1].masked_fill(~mask[..., None], 0.0)
        return frames_read


class QueryPool(nn.Module):
    """Words → one vector: projection, positions, attention block, then Σ softmax(w · word) word. [B, L, H] → [B, H]"""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.project = Projection(config.hidden, config.hidden, config.dropout)
        self.positions = Positions(config.positions, config.hidden, config.dropout)
        self.attention = Attention(config)
        self.weigh = nn.Linear(config.hidden, 1, bias=False)

    def forward(self, words: Tensor, mask: Tensor) -> Tensor:
        x = self.attention(self.positions(self.project(words)), mask)
        a = self.weigh(x)[..., 0].masked_fill(~mask, NOTHING).softmax(-1)  # [B, L]
        return torch.einsum("bl,blh->bh", a, x)


# ---------------------------------------------------------------------------------------------------------------------
# Losses


def rank_all(scores: Tensor, rivals: Tensor, config: Config, hard: bool) -> Tensor:
    """Mean over a row's rivals of the weighted hinge, then over rows. scores [B, B], the diagonal is right.

    L = mean_i mean_{j ∈ rivals} w_j max(0, margin + s_ij − s_ii),   w = 10 for the hardest, .1 for the rest
    """
    positive = scores.diagonal()[:, None]
    order = scores.detach().masked_fill(~rivals, -math.inf).argsort(1, descending=True)  # the hardest first
    there = rivals.gather(1, order)
    each = rank_gap(positive, scores.gather(1, order), config.ranking, config.margin)
    if hard:
        rank = torch.arange(scores.shape[1], device=scores.device)
        each = each * torch.where(rank < config.hard_pool, config.hard_weight, config.soft_weight)
    return ((each * there).sum(1) / there.sum(1).clamp(min=1)).mean()


def rank_one(scores: Tensor, rivals: Tensor, config: Config, hard: bool, chosen: Tensor | None) -> Tensor:
    """The hinge against one rival per row: that one, or one that is drawn, of the hardest if `hard`."""
    there = rivals.any(1)
    if chosen is None:
        order = scores.detach().masked_fill(~rivals, -math.inf).argsort(1, descending=True)
        among = rivals.sum(1)
        among = among.clamp(max=config.hard_pool) if hard else among
        rank = (torch.rand(len(scores), device=scores.device) * among).long()
        chosen = order.gather(1, rank[:, None])[:, 0]
    negative = scores.gather(1, chosen[:, None])[:, 0]
    return (rank_gap(scores.diagonal(), negative, config.ranking, config.margin) * there).mean()


# ---------------------------------------------------------------------------------------------------------------------
# The model


class Model(CorpusModel):
    name: ClassVar[str] = "hero"
    config_class: ClassVar[type[Config]] = Config
    inference: ClassVar[tuple[str, ...]] = ("alpha", "min_length", "max_length", "nms")
    reads: ClassVar[Literal["features", "ids"]] = "ids"
    encodes_pads: ClassVar[bool] = False
    recipe: ClassVar[Mapping[str, object]] = {
        "steps": 5000, "batch_size": 32, "optimizer": "bert", "lr": 7e-5, "weight_decay": 0.01, "betas": (0.9, 0.98),
        "eps": 1e-6, "schedule": "linear", "warmup": 500, "clip_norm": 1.0,
    }  # fmt: skip

    parts: ClassVar[Mapping[str, tuple[str, ...]]] = {  # all but the layers that read features, whatever their width
        "inner": ("cross.stack.", "cross.words.", "cross.types.", "cross.word_positions.", "cross.frame_positions.",
                  "time.", "time_positions.", "pool.", "span_query.", "start.", "stop."),
    }  # fmt: skip
    grows: ClassVar[tuple[str, ...]] = ("cross.frame_positions.table.weight",)

    def __init__(self, config: Config) -> None:
        super().__init__()
        c = self.config = config
        check_heads(c.hidden, c.heads)
        if c.ids <= PAD + 1:
            raise SpecError(f"a vocabulary of {c.ids} words; ids 0 and 1 are no words")
        if c.max_clips > min(c.frame_positions, c.positions) or c.max_words + 1 > c.positions:
            limits = f"{c.max_clips} clips or {c.max_words} words and CLS"
            hint = "set frame_positions and positions larger"
            raise SpecError(f"{limits} do not fit into {c.frame_positions} and {c.positions} positions; {hint}")
        self.cross = CrossModal(c)
        self.raw = Projection(c.feature_dim, c.hidden, c.dropout)
        self.time_positions, self.time = Positions(c.positions, c.hidden, c.dropout), Stack(c, c.time_layers)
        self.pool = QueryPool(c)
        self.span_query = nn.Linear(c.hidden, c.hidden)
        self.start = nn.Conv1d(1, 1, c.kernel, padding=c.kernel // 2, bias=False)
        self.stop = nn.Conv1d(1, 1, c.kernel, padding=c.kernel // 2, bias=False)
        self.reset()
        self.step = 0

    def reset(self) -> None:
        """N(0, .02) in both transformers, biases 0; the query's pooling and the heads as torch likes them, as there."""
        for part in (self.cross, self.raw, self.time_positions, self.time):
            reset_normal(part.modules())

    def begin(self, epoch: int, step: int) -> None:
        """Hard negatives and spans are trained from a certain optimiser step on."""
        self.step = step

    # -- what a retriever does ----------------------------------------------------------------------------------------

    def encode_query(self, query: Tensor, mask: Tensor) -> Queries:
        """Ids of words, without the CLS that is put before them here. [Q, L], [Q, L]"""
        ids = F.pad(query.masked_fill(~mask, PAD), (1, 0), value=CLS)  # [Q, 1 + L]
        padded_mask = F.pad(mask, (1, 0), value=True)
        q = self.pool(self.cross.read_words(ids, padded_mask), padded_mask)  # [Q, H]
        return Queries(F.normalize(q, dim=-1, eps=1e-5), self.span_query(q))

    def encode_video(self, features: Tensor, mask: Tensor) -> Videos:
        x = self.raw(features) + self.cross.read_frames(features, mask)  # [N, T, H]
        f = self.time(self.time_positions(x), mask)
        return Videos(F.normalize(f, dim=-1, eps=1e-5), f, mask)

    def boundaries(self, z: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Two convolutions over query · clip. [..., T], [..., T] → start, end [..., T]"""
        if self.config.pads == "hidden":
            z = z.masked_fill(~mask, 0.0)
        start, end = (convolve(z, conv).masked_fill(~mask, NOTHING) for conv in (self.start, self.stop))
        return start, end

    # -- training -----------------------------------------------------------------------------------------------------

    @property
    def hard(self) -> bool:
        """Whether hard negatives are on by now."""
        return self.step >= self.config.hard_from

    def learns_spans(self) -> bool:
        """Whether this step does; drawn anew each time."""
        c = self.config
        if self.step < c.span_from:
            return False
        return not self.training or c.drop_span <= 0 or torch.rand(()).item() >= c.drop_span

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """.01 (CE start + CE end) + 10 · hinge against videos + 10 · hinge against queries; parts are not weighted."""
        c = self.config
        assert batch.spans is not None
        queries = self.encode_query(batch.query, batch.query_mask)
        videos = self.encode_video(batch.video, batch.video_mask)
        scores = self.video_scores(queries, videos)  # [B, B]
        parts = self.rank_losses(scores, batch)
        total = c.weight_videos * parts["videos"] + c.weight_queries * parts["queries"]
        parts |= {"start": scores.new_zeros(()), "end": scores.new_zeros(())}
        if self.learns_spans():
            start, end = self.span_logits(queries.spans, videos.spans, videos.mask)
            parts["start"] = F.cross_entropy(start, batch.spans[:, 0])
            parts["end"] = F.cross_entropy(end, batch.spans[:, 1])
            total = total + c.weight_span * (parts["start"] + parts["end"])
        else:  # every parameter has a gradient, so that processes agree
            total = total + 0.0 * (queries.spans.sum() + self.start.weight.sum() + self.stop.weight.sum())
        return {"loss": total, **parts}

    def rank_losses(self, scores: Tensor, batch: Batch) -> dict[str, Tensor]:
        """Both ranking losses of queries × videos [B, B], unweighted (hard weights are in)."""
        c = self.config
        rivals = find_rivals(batch.videos, len(scores), c.rivals, scores.device)
        if c.negatives == "all":
            return {
                "videos": rank_all(scores, rivals, c, self.hard),
                "queries": rank_all(scores.T, rivals.T, c, self.hard),
            }
        videos, queries = batch.negatives or (None, None)
        return {
            "videos": rank_one(scores, rivals, c, self.hard, videos),
            "queries": rank_one(scores.T, rivals.T, c, self.hard, queries),
        }


# ---------------------------------------------------------------------------------------------------------------------
# Weights of the published repository

# What the parts of a layer are called, there and here.
ATTENTION = (("self.query", "query"), ("self.key", "key"), ("self.value", "value"), ("output.dense", "out"),
             ("output.LayerNorm", "norm"))  # fmt: skip
LAYER = (
    *((f"attention.{theirs}", f"attention.{ours}") for theirs, ours in ATTENTION),
    ("intermediate.dense", "up"), ("output.dense", "down"), ("output.LayerNorm", "norm"),
)  # fmt: skip
# The published name, and ours; \1, \2 … stand for numbers and the like.
OFFICIAL: tuple[tuple[str, str], ...] = (
    (r"v_encoder\.f_encoder\.embeddings\.word_embeddings\.weight", "cross.words.weight"),
    (r"v_encoder\.f_encoder\.embeddings\.token_type_embeddings\.weight", "cross.types.weight"),
    (r"v_encoder\.f_encoder\.embeddings\.position_embeddings\.weight", "cross.word_positions.table.weight"),
    (r"v_encoder\.f_encoder\.embeddings\.LayerNorm\.(\w+)", r"cross.word_positions.norm.\1"),
    (r"v_encoder\.f_encoder\.img_embeddings\.img_linear\.(\w+)", r"cross.frame_linear.\1"),
    (r"v_encoder\.f_encoder\.img_embeddings\.img_LayerNorm\.(\w+)", r"cross.frame_norm.\1"),
    (r"v_encoder\.f_encoder\.img_embeddings\.position_embeddings\.weight", "cross.frame_positions.table.weight"),
    (r"v_encoder\.f_encoder\.img_embeddings\.LayerNorm\.(\w+)", r"cross.frame_positions.norm.\1"),
    *((rf"v_encoder\.f_encoder\.encoder\.layer\.(\d+)\.{re.escape(theirs)}\.(\w+)", rf"cross.stack.layers.\1.{ours}.\2")
      for theirs, ours in LAYER),
    (r"v_encoder\.frame_transform\.LayerNorm\.(\w+)", r"raw.norm.\1"),
    (r"v_encoder\.frame_transform\.net\.1\.(\w+)", r"raw.linear.\1"),
    (r"v_encoder\.c_encoder\.embeddings\.position_embeddings\.weight", "time_positions.table.weight"),
    (r"v_encoder\.c_encoder\.embeddings\.LayerNorm\.(\w+)", r"time_positions.norm.\1"),
    *((rf"v_encoder\.c_encoder\.encoder\.layer\.(\d+)\.{re.escape(theirs)}\.(\w+)", rf"time.layers.\1.{ours}.\2")
      for theirs, ours in LAYER),
    (r"q_feat_attn\.query_input_proj\.LayerNorm\.(\w+)", r"pool.project.norm.\1"),
    (r"q_feat_attn\.query_input_proj\.net\.1\.(\w+)", r"pool.project.linear.\1"),
    (r"q_feat_attn\.query_pos_embed\.position_embeddings\.weight", "pool.positions.table.weight"),
    (r"q_feat_attn\.query_pos_embed\.LayerNorm\.(\w+)", r"pool.positions.norm.\1"),
    *((rf"q_feat_attn\.query_self_attention\.{re.escape(theirs)}\.(\w+)", rf"pool.attention.{ours}.\1")
      for theirs, ours in ATTENTION),
    (r"q_feat_attn\.modular_vector_mapping\.weight", "pool.weigh.weight"),
    (r"video_query_linear\.(\w+)", r"span_query.\1"),
    (r"video_st_predictor\.weight", "start.weight"),
    (r"video_ed_predictor\.weight", "stop.weight"),
)  # fmt: skip
UNUSED: tuple[str, ...] = (  # in the published state, and read by nothing when moments are found
    r"v_encoder\.(f_encoder\.)?pad",
    r"v_encoder\.[fc]_encoder\.pooler\..+",
    r"v_encoder\.f_encoder\.lm_head\..+",
    r"v_encoder\.(f_encoder\.img_embeddings\.)?mask_embedding\..+",
    r"v_encoder\.(feat_regress|fom_output)\..+",
)


def read_sizes(state: Mapping[str, Tensor]) -> dict[str, object]:
    """The fields of Config that follow from the shapes of a state under our names; heads and lengths do not."""

    def count(pattern: str) -> int:
        return len({m[1] for name in state if (m := re.match(pattern, name))})

    H, C = state["raw.linear.weight"].shape
    return {
        "feature_dim": C, "hidden": H, "vocab_size": len(state["cross.words.weight"]),
        "feedforward": len(state["time.layers.0.up.bias"]), "cross_layers": count(r"cross\.stack\.layers\.(\d+)\."),
        "time_layers": count(r"time\.layers\.(\d+)\."), "positions": len(state["time_positions.table.weight"]),
        "frame_positions": len(state["cross.frame_positions.table.weight"]), "kernel": state["start.weight"].shape[-1],
    }  # fmt: skip
