"""Definition of ReLoCLNet (Zhang et al., SIGIR 2021) in VERIFIED's video-only form; layers and hinges are XML's.

XML with two contrastive losses on features half-way: clips inside the moment should answer the query and clips outside
should not (FrameCL), and the query's own video better than the batch's others (VideoCL).

    query: two blocks → pooled q            video: block 1 → x → LN(x + attention(x)) → block 2 → M → block 3 → F
    s(q, v) = max_t cos(q, F_t)             z_t = F_t · (W q)                 start, end = conv5(z), conv5′(z)
    FrameCL   r_t = M_t · q;  E⁺ = mean inside (log 2 − softplus(−r));  E⁻ = mean outside (softplus(−r) + r − log 2);
              loss = mean(E⁻ − E⁺)
    VideoCL   S_ij = max_t q_i · M_jt;  loss = mean_i(logsumexp(row i ∪ column i) − S_ii)
    loss = XML's + .03 FrameCL + .03 VideoCL

There is no published video-only form: VERIFIED replaces the attention from subtitles to video by one of the video on
itself, with the same residual and norm; with one stream the averages over streams fall away.

Decided where the published code (github.com/26hzhang/ReLoCLNet) is broken or silent; besides what xml.py says of both:

- `end`: there a moment ends at last · clip, which with its labels ⌈t/clip⌉ fits but for the last clip of a video. Here
  labels and ends are both "inside"; labels="ceil", end="past" is theirs.
- In the inner attention padded rows see everything there; valid rows are the same, and pads are hidden from the heads.
- By its name rule the weight of the inner norm decays there; norms do not decay here.
- FrameCL counts the labelled last clip as inside, by any rule of labels; a moment that fills its video has E⁻ = 0.
- VideoCL counts S_ii twice, as published. By `rivals`, other queries of the same video are left out of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from fabula.learn.models import xml
from fabula.learn.models._layers import Positions, Projection, find_rivals, reset_normal
from fabula.learn.models.xml import Attention, Block, Boundaries, pool_words, retrieval_losses, span_loss, weigh
from fabula.learn.retrieval.contract import Batch, Queries, Videos, best_clip, hide


@dataclass(frozen=True)
class Config(xml.Config):
    """ReLoCLNet as published, without subtitles; lengths and NMS as VERIFIED sets them for Charades-FIG."""

    hidden: int = 384  # H
    heads: int = 8
    weight_frames: float = 0.03  # FrameCL
    weight_contrast: float = 0.03  # VideoCL
    alpha: float = 30.0


def frame_loss(clips: Tensor, query: Tensor, spans: Tensor, mask: Tensor) -> Tensor:
    """FrameCL: a lower bound of the mutual information (Jensen–Shannon) of query and clips inside the moment.

    clips [B, T, H], query [B, H], spans [B, 2], mask [B, T]
    """
    r = (clips @ query[..., None])[..., 0]  # [B, T]
    t = torch.arange(r.shape[1], device=r.device)
    inside = mask & (t >= spans[:, :1]) & (t <= spans[:, 1:])
    outside = mask & ~inside
    positive = math.log(2) - F.softplus(-r)
    negative = F.softplus(-r) + r - math.log(2)

    def mean(x: Tensor, there: Tensor) -> Tensor:
        return (x * there).sum(1) / there.sum(1).clamp(min=1)

    return (mean(negative, outside) - mean(positive, inside)).mean()


def video_loss(scores: Tensor, rivals: Tensor) -> Tensor:
    """VideoCL: noise-contrastive estimation both ways. scores [B, B], queries × videos; who is whose rival [B, B]"""
    own = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    s = hide(scores, rivals | own)
    return (torch.cat([s, s.T], 1).logsumexp(1) - scores.diagonal()).mean()


class Model(xml.Retriever):
    name: ClassVar[str] = "reloclnet"
    config_class: ClassVar[type[Config]] = Config
    inference: ClassVar[tuple[str, ...]] = xml.Model.inference
    reads: ClassVar[Literal["features", "ids"]] = "features"
    recipe: ClassVar[Mapping[str, object]] = xml.Model.recipe
    config: Config

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config, self.hard, self.spans_on = config, False, config.span_from == 0
        H, p = config.hidden, config.dropout
        self.query_project = Projection(config.query_dim, H, p)
        self.query_positions = Positions(config.max_words, H, p)
        self.query_blocks = nn.ModuleList(Block(H, config.heads, p) for _ in range(2))
        self.pool = nn.Linear(H, 1, bias=False)
        self.video_project = Projection(config.feature_dim, H, p)
        self.video_positions = Positions(config.max_clips, H, p)
        self.video_blocks = nn.ModuleList(Block(H, config.heads, p) for _ in range(3))
        self.inner, self.inner_norm = Attention(H, config.heads, p), nn.LayerNorm(H)
        self.span_query = nn.Linear(H, H)
        self.boundaries = Boundaries(config.kernel, config.pads)
        reset_normal(self.modules())

    def pooled_query(self, query: Tensor, mask: Tensor) -> Tensor:
        """q [Q, H]"""
        words = self.query_positions(self.query_project(query))
        for block in self.query_blocks:
            words = block(words, mask)
        return pool_words(words, self.pool(words)[..., 0], mask)

    def encode_query(self, query: Tensor, mask: Tensor) -> Queries:
        q = self.pooled_query(query, mask)
        return Queries(F.normalize(q, dim=-1), self.span_query(q))

    def encode_levels(self, features: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """M and F, both [N, T, H]."""
        first, second, third = self.video_blocks
        x = first(self.video_positions(self.video_project(features)), mask)
        both = mask[:, None] & mask[..., None]  # [N, T, T]
        x = self.inner_norm(x + self.inner(x, x, both))
        middle = second(x, mask)
        return middle, third(middle, mask)

    def encode_video(self, features: Tensor, mask: Tensor) -> Videos:
        _, final = self.encode_levels(features, mask)
        return Videos(F.normalize(final, dim=-1), final, mask)

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """XML's losses, FrameCL and VideoCL; each term is logged unweighted."""
        c = self.config
        assert batch.spans is not None
        q = self.pooled_query(batch.query, batch.query_mask)
        middle, final = self.encode_levels(batch.video, batch.video_mask)
        mask = batch.video_mask
        scores = best_clip(F.normalize(q, dim=-1), F.normalize(final, dim=-1), mask)
        rivals = find_rivals(batch.videos, len(q), c.rivals, q.device)
        parts = {
            "span": span_loss(*self.span_logits(self.span_query(q), final, mask), batch.spans),
            **retrieval_losses(scores, batch, c, self.hard),
            "frames": frame_loss(middle, q, batch.spans, mask),
            "contrast": video_loss(best_clip(q, middle, mask), rivals),
        }
        weights = {
            "span": c.weight_span * self.spans_on,
            "videos": c.weight_videos,
            "queries": c.weight_queries,
            "frames": c.weight_frames,
            "contrast": c.weight_contrast,
        }
        return {"loss": weigh(parts, weights), **parts}


# ---------------------------------------------------------------------------------------------------------------------
# Published weights: their names, and ours

OFFICIAL: tuple[tuple[str, str], ...] = (
    *xml.READING,
    *((rf"query_encoder\.{theirs}", f"query_blocks.0.{ours}") for theirs, ours in xml.BLOCK),
    *((rf"query_encoder1\.{theirs}", f"query_blocks.1.{ours}") for theirs, ours in xml.BLOCK),
    (r"video_cross_att\.(\w+)\.(\w+)", r"inner.\1.\2"),
    (r"video_cross_layernorm\.(\w+)", r"inner_norm.\1"),
    (r"merged_st_predictor\.(\w+)", r"boundaries.start.\1"),
    (r"merged_ed_predictor\.(\w+)", r"boundaries.end.\1"),
)
UNUSED: tuple[str, ...] = ()
read_sizes = xml.read_sizes
