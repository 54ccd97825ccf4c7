"""What several models are made of: spans, sine codes, layers, and the methods of those that find moments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

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

    def parameter_groups(self, settings: Settings) -> list[dict[str, object]]:
        """Weights that decay, and biases and norms, which do not."""
        norms = {id(p) for m in self.modules() if isinstance(m, nn.LayerNorm) for p in m.parameters()}
        decayed: list[nn.Parameter] = []
        none: list[nn.Parameter] = []
        for name, p in self.named_parameters():
            (none if id(p) in norms or name.endswith("bias") else decayed).append(p)
        return [{"params": decayed, "weight_decay": settings.weight_decay}, {"params": none, "weight_decay": 0.0}]

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
