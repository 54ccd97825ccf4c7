"""Full definition of the noise evaluator of VERIFIED (Chen et al., NeurIPS 2024) on features, in this single file.

Says how well a caption fits a clip, c(V, q). VERIFIED fine-tunes UMT (Li et al., ICCV 2023) on pixels; its code is not
public, and the formulas of its "disturbed hard-negatives augmented" losses are not in print. This is that recipe on
features, with the losses as we define them:

    clips [B, T, C] → linear, + positions, layers → V [B, T, H]        e_v,t = unit(W_v V_t)
    words [N, L, E] → linear, [CLS], + positions, layers → U [N, 1 + L, H]     e_q = unit(W_q U_cls)
    s(V, q) = mean_t e_v,t · e_q                                       as UMT averages over frames
    r_l     = (mean_t, max_t) of unit(W_q U_l) · e_v,t / τ              how near each word is to the clips
    fused   = layers over U + W_r r that also attend to V              m(V, q) = W_m fused_cls ∈ R²
    c(V, q) = m(V, q)[1]                                               the confidence: unbounded, as released

    L_v2t = −log e^{s(v_i, t_i)/τ} / (Σ_j e^{s(v_i, t_j)/τ} + Σ_{h ∈ H_i} e^{s(v_i, h)/τ})
    L_t2v = −log e^{s(v_i, t_i)/τ} / Σ_j e^{s(v_j, t_i)/τ}             L_VTC = (L_v2t + L_t2v) / 2
    L_VTM = CE of m over (v_i, t_i) → 1, and → 0: (v_j, t_i), (v_i, t_j) with j drawn ∝ e^{s/τ}, (v_i, h) for h ∈ H_i
    L     = L_VTC + L_VTM

r is ours: fusion layers that begin from nothing (UMT's are pre-trained on millions of pairs) do not find out by
attention alone whether a single word is in the clips. t_i is one of the true captions of v_i, H_i are disturbed ones,
`hard` of each kind (learn/noise/data.py). Rows that say the same, or are of one video, are no negatives of each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from fabula.learn import batch as shared
from fabula.learn.models._layers import SmallConfig, check_heads

if TYPE_CHECKING:
    from fabula.learn.options import Settings

COLDEST, WARMEST = 0.001, 0.5  # τ stays between


@dataclass
class Batch(shared.Batch):
    """B clips and N captions. In training the first B are true of their clips, the rest is H."""

    video: Tensor  # [B, T, C]
    video_mask: Tensor  # [B, T] bool
    texts: Tensor  # [N, L, E]
    texts_mask: Tensor  # [N, L] bool
    owner: Tensor  # [N] the clip that a caption is about
    rivals: Tensor = field(default_factory=lambda: torch.zeros(0, 0, dtype=torch.bool))  # [B, B] may be negatives


@dataclass(frozen=True)
class Config(SmallConfig):
    """Widths and settings; `tiny()` is for a laptop. UMT-L has 1024 channels, 768 embedded, 24 layers, on pixels."""

    feature_dim: int = 2048  # C
    query_dim: int = 300  # E, of hashed words, or of the text features
    max_words: int = 64  # L: longer captions are cut
    max_clips: int = 64  # T: longer moments are averaged down
    clip: float = 1.0  # seconds
    hidden: int = 256  # H
    embed: int = 256
    heads: int = 4
    video_layers: int = 1
    text_layers: int = 2
    fusion_layers: int = 2
    dropout: float = 0.1
    normalize: bool = True  # clips are scaled to length 1 as they are read
    words: Literal["hashing", "store"] = "hashing"  # store: features of texts (--text)
    # losses
    tau: float = 0.07  # where the temperature begins
    hard: int = 1  # disturbed captions of each kind (static, dynamic) a step; 0: in-batch negatives alone
    weight_contrast: float = 1.0
    weight_match: float = 1.0

    small: ClassVar = {
        "query_dim": 128,
        "hidden": 64,
        "embed": 64,
        "max_words": 32,
        "max_clips": 24,
        "video_layers": 1,
        "text_layers": 1,
        "fusion_layers": 1,
        "dropout": 0.0,
    }  # of `tiny`, for a laptop


class Layer(nn.Module):
    """x += attention(LN x); x += attention(LN x, memory), where there is one; x += MLP(LN x). [B, T, H]"""

    def __init__(self, config: Config, crosses: bool = False) -> None:
        super().__init__()
        H, p = config.hidden, config.dropout
        check_heads(H, config.heads)
        self.own = nn.MultiheadAttention(H, config.heads, p, batch_first=True)
        self.cross = nn.MultiheadAttention(H, config.heads, p, batch_first=True) if crosses else None
        self.norms = nn.ModuleList(nn.LayerNorm(H) for _ in range(3 if crosses else 2))
        self.mlp = nn.Sequential(nn.Linear(H, 4 * H), nn.GELU(), nn.Dropout(p), nn.Linear(4 * H, H))
        self.dropout = nn.Dropout(p)

    def forward(
        self, x: Tensor, mask: Tensor, memory: Tensor | None = None, memory_mask: Tensor | None = None
    ) -> Tensor:
        y = self.norms[0](x)
        x = x + self.dropout(self.own(y, y, y, key_padding_mask=~mask, need_weights=False)[0])
        if self.cross is not None:
            assert memory is not None and memory_mask is not None
            y = self.norms[1](x)
            x = x + self.dropout(self.cross(y, memory, memory, key_padding_mask=~memory_mask, need_weights=False)[0])
        out: Tensor = x + self.dropout(self.mlp(self.norms[-1](x)))
        return out


class Model(nn.Module):
    name: ClassVar[str] = "noise_scorer"
    config_class: ClassVar[type[Config]] = Config
    inference: ClassVar[tuple[str, ...]] = ()
    recipe: ClassVar[Mapping[str, object]] = {
        "epochs": 5, "batch_size": 32, "optimizer": "adamw", "lr": 4e-5, "weight_decay": 0.02,
        "schedule": "cosine", "warmup": 0.2, "clip_norm": 1.0,
    }  # fmt: skip

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = c = config
        self.video_in, self.text_in = nn.Linear(c.feature_dim, c.hidden), nn.Linear(c.query_dim, c.hidden)
        self.video_at = nn.Parameter(torch.randn(c.max_clips, c.hidden) * 0.02)
        self.text_at = nn.Parameter(torch.randn(c.max_words + 1, c.hidden) * 0.02)
        self.cls = nn.Parameter(torch.randn(c.hidden) * 0.02)
        self.video_layers = nn.ModuleList(Layer(c) for _ in range(c.video_layers))
        self.text_layers = nn.ModuleList(Layer(c) for _ in range(c.text_layers))
        self.fusion_layers = nn.ModuleList(Layer(c, crosses=True) for _ in range(c.fusion_layers))
        self.video_out, self.text_out = nn.Linear(c.hidden, c.embed), nn.Linear(c.hidden, c.embed)
        self.meet = nn.Linear(2, c.hidden)
        self.norm, self.head = nn.LayerNorm(c.hidden), nn.Linear(c.hidden, 2)
        self.tau = nn.Parameter(torch.tensor(c.tau))

    @property
    def temperature(self) -> Tensor:
        return self.tau.clamp(COLDEST, WARMEST)

    # -- encoding -----------------------------------------------------------------------------------------------------

    def encode_video(self, video: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """V [B, T, H] and e_v [B, T, D]."""
        x = self.video_in(video) + self.video_at[: video.shape[1]]
        for layer in self.video_layers:
            x = layer(x, mask)
        return x, F.normalize(self.video_out(x), dim=-1)

    def encode_text(self, texts: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """U [N, 1 + L, H], its mask, and e_q [N, D]."""
        x = torch.cat([self.cls.expand(len(texts), 1, -1), self.text_in(texts)], 1) + self.text_at[: texts.shape[1] + 1]
        mask = F.pad(mask, (1, 0), value=True)
        for layer in self.text_layers:
            x = layer(x, mask)
        return x, mask, F.normalize(self.text_out(x[:, 0]), dim=-1)

    @staticmethod
    def similarity(e_q: Tensor, e_v: Tensor, mask: Tensor) -> Tensor:
        """s(V, q) = mean_t e_v,t · e_q. [N, D], [B, T, D], [B, T] → [N, B]"""
        mean = (e_v * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)  # the mean of products is that of the clips
        return e_q @ mean.T

    def match(self, words: Tensor, mask: Tensor, clips: Tensor, clip_mask: Tensor) -> Tensor:
        """m(V, q) of pairs. [P, 1 + L, H], [P, 1 + L], [P, T, H], [P, T] → [P, 2]"""
        e_q, e_v = F.normalize(self.text_out(words), dim=-1), F.normalize(self.video_out(clips), dim=-1)
        near = e_q @ e_v.transpose(1, 2)  # [P, 1 + L, T]
        mean = (near * clip_mask[:, None]).sum(-1) / clip_mask.sum(-1, keepdim=True)
        most = near.masked_fill(~clip_mask[:, None], -1.0).amax(-1)
        x = words + self.meet(torch.stack([mean, most], -1) / self.temperature)  # r [P, 1 + L, 2]
        for layer in self.fusion_layers:
            x = layer(x, mask, clips, clip_mask)
        out: Tensor = self.head(self.norm(x[:, 0]))
        return out

    # -- learning -----------------------------------------------------------------------------------------------------

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        c = self.config
        clips, e_v = self.encode_video(batch.video, batch.video_mask)
        words, mask, e_q = self.encode_text(batch.texts, batch.texts_mask)
        s = self.similarity(e_q, e_v, batch.video_mask) / self.temperature  # [N, B]
        contrast = contrast_loss(s, batch.owner, batch.rivals)
        pairs, labels = draw_pairs(s.detach(), batch.owner, batch.rivals)
        logits = self.match(words[pairs[:, 0]], mask[pairs[:, 0]], clips[pairs[:, 1]], batch.video_mask[pairs[:, 1]])
        matching = F.cross_entropy(logits, labels)
        loss = c.weight_contrast * contrast + c.weight_match * matching
        return {"loss": loss, "contrast": contrast, "match": matching}

    def parameter_groups(self, settings: Settings) -> list[dict[str, object]]:
        """Matrices decay; biases, norms, positions and τ do not."""
        decayed = [p for n, p in self.named_parameters() if p.ndim > 1 and not n.endswith("_at")]
        none = [p for n, p in self.named_parameters() if p.ndim <= 1 or n.endswith("_at")]
        return [{"params": decayed, "weight_decay": settings.weight_decay}, {"params": none, "weight_decay": 0.0}]

    # -- scoring ------------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def predict(self, batch: Batch) -> list[list[float]]:
        """c of every caption of every clip, in their order."""
        clips, _ = self.encode_video(batch.video, batch.video_mask)
        words, mask, _ = self.encode_text(batch.texts, batch.texts_mask)
        c = self.match(words, mask, clips[batch.owner], batch.video_mask[batch.owner])[:, 1]  # [N]
        of, confidence = batch.owner.tolist(), c.double().tolist()
        return [[x for x, o in zip(confidence, of, strict=True) if o == i] for i in range(len(batch.names))]


def contrast_loss(s: Tensor, owner: Tensor, rivals: Tensor) -> Tensor:
    """L_VTC. s [N, B] = s(V, q)/τ, the first B captions true; owner [N]; rivals [B, B]"""
    B = s.shape[1]
    own = torch.eye(B, dtype=torch.bool, device=s.device)
    counted = torch.cat([own | rivals, owner[B:, None] == torch.arange(B, device=s.device)])  # [N, B]
    right = s[:B].diagonal()
    v2t = s.masked_fill(~counted, float("-inf")).logsumexp(0) - right  # [B]
    t2v = s[:B].masked_fill(~(own | rivals), float("-inf")).logsumexp(1) - right  # [B]
    return (v2t.mean() + t2v.mean()) / 2


def draw_pairs(s: Tensor, owner: Tensor, rivals: Tensor) -> tuple[Tensor, Tensor]:
    """(caption, clip) of every pair that is judged, [P, 2], and whether they belong together, [P]."""
    B = s.shape[1]
    each = torch.arange(B, device=s.device)
    there = rivals.any(1)
    pairs = [torch.stack([each, each], 1)]
    if there.any():
        candidates = each[there]
        video = torch.multinomial(s[:B].masked_fill(~rivals, float("-inf"))[there].softmax(1), 1)[:, 0]
        text = torch.multinomial(s[:B].T.masked_fill(~rivals, float("-inf"))[there].softmax(1), 1)[:, 0]
        pairs += [torch.stack([candidates, video], 1), torch.stack([text, candidates], 1)]
    pairs.append(torch.stack([torch.arange(B, len(s), device=s.device), owner[B:]], 1))
    every = torch.cat(pairs)
    labels = torch.zeros(len(every), dtype=torch.long, device=s.device)
    labels[:B] = 1
    return every, labels
