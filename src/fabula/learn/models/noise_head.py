"""A head over embeddings that others trained: the noise evaluator of VERIFIED (Chen et al., NeurIPS 2024), small.

VERIFIED fine-tunes a video–text model (UMT) to say how well a caption fits a clip. Where its embeddings are in a store
(CLIP, UMT, InternVideo …), this fine-tunes what comes after them; learn/models/noise_scorer.py begins from nothing.

    clips [B, T, C] → e_v,t = unit(x + W_v x)          tokens [N, L, E] → e_q = unit(mean_l (y + W_q y))
    s(V, q) = mean_t e_v,t · e_q
    m(V, q) = MLP(s/τ, max_t e_v,t · e_q/τ, ē_v ∘ e_q, |ē_v − e_q|) ∈ R²,  ē_v = unit(mean_t e_v,t)
    c(V, q) = m(V, q)[1]                               the confidence: unbounded, as released
    L = L_VTC + L_VTM                                  with disturbed captions as hard negatives, as in noise_scorer.py

Where clips and texts have as many numbers, they are taken for one space, as CLIP's are: W begins as 0, so that s begins
as the encoders' own cosine. Else W alone maps both into `embed` numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from fabula.learn.models._layers import SmallConfig
from fabula.learn.models.noise_scorer import COLDEST, WARMEST, Batch, contrast_loss, draw_pairs


@dataclass(frozen=True)
class Config(SmallConfig):
    """Widths and settings; `tiny()` is for a laptop."""

    feature_dim: int = 768  # C
    query_dim: int = 768  # E
    max_words: int = 64  # L: longer captions are cut; embeddings of a text are one row
    max_clips: int = 64  # T: longer moments are averaged down
    clip: float = 1.0  # seconds
    embed: int = 256  # of the common space, where C and E differ
    hidden: int = 256  # of the head
    dropout: float = 0.1
    normalize: bool = True  # clips and texts are scaled to length 1 as they are read
    words: Literal["store"] = "store"
    # losses
    tau: float = 0.07  # where the temperature begins
    hard: int = 1  # disturbed captions of each kind (static, dynamic) a step; 0: in-batch negatives alone
    weight_contrast: float = 1.0
    weight_match: float = 1.0

    small: ClassVar = {"embed": 64, "hidden": 64, "dropout": 0.0, "max_words": 32, "max_clips": 24}  # of `tiny`


class Residual(nn.Module):
    """x + W x, W beginning as 0; or W x, where the widths differ. [..., C] → [..., D]"""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.linear, self.same = nn.Linear(width, out, bias=False), width == out
        if self.same:
            nn.init.zeros_(self.linear.weight)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.linear(x)
        return x + y if self.same else y


class Model(nn.Module):
    name: ClassVar[str] = "noise_head"
    config_class: ClassVar[type[Config]] = Config
    inference: ClassVar[tuple[str, ...]] = ()
    recipe: ClassVar[Mapping[str, object]] = {
        "epochs": 10, "batch_size": 64, "optimizer": "adamw", "lr": 1e-3, "weight_decay": 0.02,
        "schedule": "cosine", "warmup": 0.1, "clip_norm": 1.0,
    }  # fmt: skip

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = c = config
        D = c.feature_dim if c.feature_dim == c.query_dim else c.embed
        self.video, self.text = Residual(c.feature_dim, D), Residual(c.query_dim, D)
        self.head = nn.Sequential(
            nn.Linear(2 + 2 * D, c.hidden), nn.GELU(), nn.Dropout(c.dropout), nn.Linear(c.hidden, 2)
        )
        self.tau = nn.Parameter(torch.tensor(c.tau))

    @property
    def temperature(self) -> Tensor:
        return self.tau.clamp(COLDEST, WARMEST)

    def encode(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """e_v [B, T, D], the mean of a clip's [B, D], and e_q [N, D]."""
        clips = F.normalize(self.video(batch.video), dim=-1)
        mean = (clips * batch.video_mask[..., None]).sum(1) / batch.video_mask.sum(1, keepdim=True)
        tokens = self.text(batch.texts) * batch.texts_mask[..., None]
        return clips, mean, F.normalize(tokens.sum(1), dim=-1)

    def match(self, clips: Tensor, mask: Tensor, mean: Tensor, text: Tensor) -> Tensor:
        """m(V, q) of pairs. [P, T, D], [P, T], [P, D], [P, D] → [P, 2]"""
        most = (clips @ text[..., None])[..., 0].masked_fill(~mask, -1.0).amax(-1)
        near = torch.stack([(mean * text).sum(-1), most], -1) / self.temperature
        video = F.normalize(mean, dim=-1)
        out: Tensor = self.head(torch.cat([near, video * text, (video - text).abs()], -1))
        return out

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        c = self.config
        clips, mean, text = self.encode(batch)
        s = text @ mean.T / self.temperature  # [N, B]
        contrast = contrast_loss(s, batch.owner, batch.rivals)
        pairs, labels = draw_pairs(s.detach(), batch.owner, batch.rivals)
        q, v = pairs.unbind(1)
        matching = F.cross_entropy(self.match(clips[v], batch.video_mask[v], mean[v], text[q]), labels)
        loss = c.weight_contrast * contrast + c.weight_match * matching
        return {"loss": loss, "contrast": contrast, "match": matching}

    @torch.no_grad()
    def predict(self, batch: Batch) -> list[list[float]]:
        """c of every caption of every clip, in their order."""
        clips, mean, text = self.encode(batch)
        of = batch.owner
        c = self.match(clips[of], batch.video_mask[of], mean[of], text)[:, 1].double().tolist()
        return [[x for x, o in zip(c, of.tolist(), strict=True) if o == i] for i in range(len(batch.names))]
