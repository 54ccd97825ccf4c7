"""What several models are made of: spans, sine codes, layers, and the methods of those that find moments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from fabula.core.errors import SpecError
from fabula.data.moments import Ranking
from fabula.documents.fields import JsonObject
from fabula.learn.retrieval.contract import Batch, Queries, Videos, best_clip

if TYPE_CHECKING:
    from fabula.learn.options import Settings


class SmallConfig:
    """Base of configs, dataclasses whose fields are a paper's values; `tiny` runs on a laptop in minutes."""

    small: ClassVar[JsonObject]

    @classmethod
    def tiny(cls, **changes: Any) -> Self:
        return cls(**{**cls.small, **changes})


def check_heads(hidden: int, heads: int) -> None:
    """Attention by heads gives each an equal part of the numbers."""
    if heads < 1 or hidden % heads:
        raise SpecError(f"hidden is {hidden}; it must be a multiple of heads, {heads}")


# ---------------------------------------------------------------------------------------------------------------------
# Spans: (centre, length) or (start, end), as fractions of the video


def to_span(box: Tensor) -> Tensor:
    """(centre, length) → (start, end). [..., 2]"""
    c, l = box.unbind(-1)  # noqa: E741
    return torch.stack([c - l / 2, c + l / 2], -1)


def to_box(span: Tensor) -> Tensor:
    """(start, end) → (centre, length). [..., 2]"""
    s, e = span.unbind(-1)
    return torch.stack([(s + e) / 2, e - s], -1)


def logit(p: Tensor, eps: float = 1e-5) -> Tensor:
    """σ⁻¹, finite at 0 and 1."""
    p = p.clamp(0, 1)
    return torch.log(p.clamp(min=eps) / (1 - p).clamp(min=eps))


def sines(x: Tensor, dim: int) -> Tensor:
    """x ∈ [0, 1] → sin and cos of 2πx at dim/2 wavelengths up to 10⁴. [...] → [..., dim]"""
    wave = 10_000 ** (2 * torch.div(torch.arange(dim, device=x.device), 2, rounding_mode="floor") / dim)
    phase = x[..., None] * 2 * math.pi / wave
    return torch.stack([phase[..., 0::2].sin(), phase[..., 1::2].cos()], -1).flatten(-2)


# ---------------------------------------------------------------------------------------------------------------------
# Layers


class FeedForward(nn.Module):
    """x ← LN(x + W₂ max(0, W₁ x))"""

    def __init__(self, hidden: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(hidden, inner), nn.Linear(inner, hidden)
        self.norm, self.drop = nn.LayerNorm(hidden), nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.norm(x + self.drop(self.down(self.drop(F.relu(self.up(x))))))
        return y


class Projection(nn.Module):
    """ReLU(W dropout(LN(x)) + b). [B, T, C] → [B, T, H]"""

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.norm, self.dropout, self.linear = nn.LayerNorm(width), nn.Dropout(dropout), nn.Linear(width, hidden)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.linear(self.dropout(self.norm(x))))


class Positions(nn.Module):
    """dropout(LN(x + p)), p learnt. [B, T, H]"""

    def __init__(self, most: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.table, self.norm, self.dropout = nn.Embedding(most, hidden), nn.LayerNorm(hidden), nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.dropout(self.norm(x + self.table.weight[: x.shape[1]]))
        return y


def reset_matrices(*parts: nn.Module) -> None:
    """Xavier for whatever has two dimensions or more."""
    for p in (p for part in parts for p in part.parameters() if p.dim() > 1):
        nn.init.xavier_uniform_(p)


def reset_normal(modules: Iterable[nn.Module], std: float = 0.02) -> None:
    """N(0, .02) for linear layers and tables, 0 for biases; the rest stays as torch likes it."""
    for module in modules:
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, 0.0, std)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)


def mean_over_processes(n: Tensor) -> Tensor:
    """A number's mean over all processes of a run."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.all_reduce(n)
        n = n / torch.distributed.get_world_size()
    return n


def entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy; of nothing, 0. Several processes take the mean over the labels of all, as one would."""
    n = mean_over_processes(torch.tensor(float(len(labels)), device=logits.device))
    return F.cross_entropy(logits, labels, reduction="sum") / torch.where(n > 0, n, torch.ones_like(n))


# ---------------------------------------------------------------------------------------------------------------------
# Transformer, post-norm

KV = tuple[Tensor, Tensor]  # keys and values by head


class Widths(Protocol):
    """What a config says of its Transformer."""

    @property
    def hidden(self) -> int: ...
    @property
    def heads(self) -> int: ...
    @property
    def feedforward(self) -> int: ...
    @property
    def dropout(self) -> float: ...


class Attention(nn.Module):
    """A_h = softmax(Q_h K_hᵀ / √(D/H)),  out = W_o [A_1 V_1; …; A_H V_H]"""

    def __init__(self, config: Widths) -> None:
        super().__init__()
        D = config.hidden
        self.heads, self.dropout = config.heads, config.dropout
        self.qkv, self.out = nn.Linear(D, 3 * D), nn.Linear(D, D)
        nn.init.xavier_uniform_(self.qkv.weight)
        nn.init.zeros_(self.qkv.bias)
        nn.init.zeros_(self.out.bias)

    def split(self, x: Tensor) -> Tensor:
        B, T, D = x.shape
        return x.view(B, T, self.heads, D // self.heads).transpose(1, 2)  # [B, T, D] → [B, H, T, D/H]

    def queries(self, x: Tensor) -> Tensor:
        D = x.shape[-1]
        return self.split(F.linear(x, self.qkv.weight[:D], self.qkv.bias[:D]))

    def keys(self, x: Tensor) -> KV:
        """K and V of what is attended to."""
        D = x.shape[-1]
        k, v = F.linear(x, self.qkv.weight[D:], self.qkv.bias[D:]).chunk(2, -1)
        return self.split(k), self.split(v)

    def forward(self, x: Tensor, kv: KV, allowed: Tensor | None, A: list[Tensor] | None = None) -> Tensor:
        """x [B, T, D] reads K, V [B, H, S, D/H] where `allowed` [B|1, 1, T|1, S] says.

        A, if given, receives the mean over heads.
        """
        q = self.queries(x)
        if A is not None:
            a = q @ kv[0].transpose(-1, -2) / math.sqrt(q.shape[-1])  # [B, H, T, S]
            a = a.masked_fill(~allowed, -math.inf) if allowed is not None else a
            A.append(a.softmax(-1).mean(1))
        y = F.scaled_dot_product_attention(q, *kv, attn_mask=allowed, dropout_p=self.dropout if self.training else 0.0)
        projected: Tensor = self.out(y.transpose(1, 2).flatten(2))
        return projected


class EncoderLayer(nn.Module):
    """x ← LN(x + MHA(x));  x ← LN(x + FFN(x))"""

    def __init__(self, config: Widths) -> None:
        super().__init__()
        self.attention, self.ffn = Attention(config), FeedForward(config.hidden, config.feedforward, config.dropout)
        self.norm, self.drop = nn.LayerNorm(config.hidden), nn.Dropout(config.dropout)

    def forward(self, x: Tensor, allowed: Tensor) -> Tensor:
        y: Tensor = self.ffn(self.norm(x + self.drop(self.attention(x, self.attention.keys(x), allowed))))
        return y


class DecoderLayer(nn.Module):
    """x ← LN(x + MHA(x, past));  x ← LN(x + MHA(x, memory));  x ← LN(x + FFN(x))"""

    def __init__(self, config: Widths) -> None:
        super().__init__()
        self.own, self.cross, self.ffn = (
            Attention(config),
            Attention(config),
            FeedForward(config.hidden, config.feedforward, config.dropout),
        )
        self.norm_own, self.norm_cross = nn.LayerNorm(config.hidden), nn.LayerNorm(config.hidden)
        self.drop = nn.Dropout(config.dropout)

    def forward(
        self, x: Tensor, past: KV, memory: KV, masks: tuple[Tensor | None, Tensor], A: list[Tensor] | None = None
    ) -> Tensor:
        x = self.norm_own(x + self.drop(self.own(x, past, masks[0])))
        x = self.norm_cross(x + self.drop(self.cross(x, memory, masks[1], A)))
        y: Tensor = self.ffn(x)
        return y


# ---------------------------------------------------------------------------------------------------------------------
# Models that find moments in a corpus


def find_rivals(videos: Sequence[str], count: int, rivals: str, device: torch.device) -> Tensor:
    """Which rows of the batch may be a negative of which. [B, B] bool"""
    other = ~torch.eye(count, dtype=torch.bool, device=device)
    if rivals == "other" and len(videos) == count:
        number = {video: i for i, video in enumerate(dict.fromkeys(videos))}
        at = torch.tensor([number[v] for v in videos], device=device)
        other &= at[:, None] != at
    return other


def rank_gap(positive: Tensor, negative: Tensor, ranking: str, margin: float) -> Tensor:
    """max(0, margin + s⁻ − s⁺), or log(1 + exp(s⁻ − s⁺))"""
    gap = negative - positive
    return F.softplus(gap) if ranking == "lse" else (margin + gap).clamp(min=0)


class CorpusModel(nn.Module):
    """Base of models that search a corpus: retrieval/contract.py says what they are asked."""

    encodes_pads: ClassVar[bool] = True  # whether a clip's encoding depends on the clips behind the video's end

    def parameter_groups(self, settings: Settings) -> list[dict[str, object]]:
        """Weights that decay, and biases and norms, which do not."""
        norms = {id(p) for m in self.modules() if isinstance(m, nn.LayerNorm) for p in m.parameters()}
        decayed: list[nn.Parameter] = []
        none: list[nn.Parameter] = []
        for name, p in self.named_parameters():
            (none if id(p) in norms or name.endswith("bias") else decayed).append(p)
        return [{"params": decayed, "weight_decay": settings.weight_decay}, {"params": none, "weight_decay": 0.0}]

    @property
    def reach(self) -> int | None:
        """How many clips behind a video's end its answer depends on; None: on all that it is padded with.

        Where encoders attend only to clips that are there, the convolutions of the boundaries read half a kernel."""
        c: Any = self.config
        if c.pads == "hidden":
            return 0
        return None if self.encodes_pads else c.kernel // 2

    def video_scores(self, queries: Queries, videos: Videos) -> Tensor:
        return best_clip(queries.search, videos.search, videos.mask)

    def span_logits(self, query: Tensor, clips: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        z = (clips @ query[..., None])[..., 0]  # [..., T]
        logits: tuple[Tensor, Tensor] = self.boundaries(z, mask.expand(z.shape))  # type: ignore[operator]
        return logits

    def predict(self, batch: Batch) -> list[Ranking]:
        """Moments of each query's own video; a corpus is searched by retrieval/search.py."""
        from fabula.learn.retrieval.queries import predict_own

        return predict_own(self, batch)  # type: ignore[arg-type]
