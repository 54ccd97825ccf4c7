"""Full definition of QD-DETR (Moon et al., CVPR 2023): moments and highlights.

One query, one video: every clip reads the query by cross-attention, a learnt token collects what the video is to the
query, anchors (DAB-DETR, Liu et al., ICLR 2022) become windows; the query of another video must leave the clips dull.

    clips [B, L, C], words [B, W, E] → projections → text-to-video cross-attention → encoder over [token; clips]
    saliency   s_l = (W1 clip_l)·(W2 token)/√D                         how good a highlight each clip is
    windows    10 anchors (centre, width) → decoder, refined layer by layer → window and foreground per layer
    training   windows ↔ anchors by a matcher: 10·L1 + 1·(1 − GIoU) + 4·class on every layer;
               saliency: rank contrast + dullness under a foreign query + margin between marked clips

Decided where the paper and its published code (github.com/wjun0830/QD-DETR) disagree, or the code slips:

- Its cross-attention repeats masks head by head where torch reads them item by item, so that items mask each other's
  padding. Here every item has its own mask; `compat_mixed_masks` is theirs.
- `rivals`: there a foreign query is the next item's, though it may be about the same video, and in a batch of one it is
  the item's own. Here it is that of the next item about another video, and there may be none; "all" is theirs.
- −log(1 − σ(x)) of a foreign query overflows near x = 17; here it is softplus(x), the same number.
- Labels are fractions of clips × clip length, windows are decoded as fractions of the duration. Here both are of
  clips × clip length, cut at the duration; `compat_duration` decodes as published.
- The published program rounds windows to whole clips (some become empty), saliency to half precision and cuts at
  150 s. `rounding="published"` does; "clips" rounds and leaves at least one clip; "no" is the default.
- DAB-DETR begins with anchors that do not move; a later xavier undoes that in the published code, and here.
- The decoder is not run for the foreign query: nothing reads it.
- Not built: the alignment loss and windows by classification (both off as published), positions of words (off).
- Ordered matching takes anchors and windows in order of centre, and every window gets an anchor; with "marginal" the
  windows' part of the loss is the free energy −γ log Σ exp(−loss/γ) over all such matchings, whose gradient is the
  expected one. Neither is in the paper.
- A video longer than `max_clips`, which the published loader cuts, is seen window by window (retrieval/highlights.py).
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor, nn

from fabula.core.errors import SpecError
from fabula.data.moments import Id, Ranking
from fabula.learn import batch as shared
from fabula.learn.matchers import HungarianMatcher, MarginalMatcher, Matching, OrderedMatcher
from fabula.learn.models._layers import SmallConfig, logit, reset_matrices, sines, to_box, to_span
from fabula.match.nms import nms

Rounding = Literal["no", "clips", "published"]


@dataclass(frozen=True)
class Config(SmallConfig):
    """QD-DETR for QVHighlights as published (SlowFast + CLIP); `Config.tiny()` runs on a laptop."""

    scope = "video"  # a query is searched in its own video only
    feature_dim: int = 2816  # C: SlowFast 2304 + CLIP 512
    query_dim: int = 512  # E: CLIP's words
    ends: bool = True  # a clip is told where it begins and ends, as fractions of the video: two channels more (`tef`)
    words: Literal["store", "hashing"] = "store"  # vectors of words: from a store, or made of the words' letters
    max_words: int = 32  # W: longer queries are cut
    max_clips: int = 75  # L: longer videos are cut into windows …
    overlap: int = 37  # … that share so many clips with their neighbours …
    join: float = 0.7  # … and of whose answers those are left out that overlap a better one by more than this
    clip: float = 2.0  # seconds
    normalize: bool = True  # clips and words are scaled to length 1 as they are read
    hidden: int = 256  # D: width of the transformer
    heads: int = 8
    encoder_layers: int = 2  # of the text-to-video encoder, and as many of the encoder after it
    decoder_layers: int = 2
    feedforward: int = 1024  # width of the feed-forward layers
    projections: int = 2  # layers between features and transformer, 1 … 3
    input_dropout: float = 0.5  # in the projections
    dropout: float = 0.1  # in the transformer
    queries: int = 10  # Q: at most so many windows
    # matching
    matcher: Literal["hungarian", "ordered", "marginal"] = "hungarian"
    gamma: float = 0.1  # marginal: temperature, in units of one window's loss
    cost_span: float = 10.0  # weights of the matching cost
    cost_giou: float = 1.0
    cost_class: float = 4.0
    # losses
    weight_span: float = 10.0
    weight_giou: float = 1.0
    weight_label: float = 4.0
    weight_saliency: float = 1.0
    background: float = 0.1  # weight of the class "no window"
    margin: float = 0.2  # between the saliency of a good and a bad clip
    levels: int = 12  # marks add up to at most this: clips of mark ≥ 1 … 11 are ranked above the rest
    tau: float = 0.5  # temperature of the rank contrast
    rivals: Literal["other", "all"] = "other"  # whose query may be the foreign one: see top
    most_windows: int | None = None  # of a query so many are learnt, drawn anew each time (published: 5); None: all
    early: bool = True  # every decoder layer has its losses, not the last alone
    # slips of the published code: see top
    compat_mixed_masks: bool = False
    compat_duration: bool = False
    # inference
    rounding: Rounding = "no"
    longest: float = 150.0  # published rounding cuts windows here
    nms: float | None = None  # suppress windows that overlap a better one by more than this

    small: ClassVar = {
        "hidden": 64,
        "heads": 4,
        "feedforward": 128,
        "input_dropout": 0.1,
        "dropout": 0.0,
    }  # of `tiny`, for a laptop


@dataclass
class HighlightBatch(shared.Batch):
    """B queries with their videos, padded: L clips, W words, K windows, P pairs. Masks: True where something is."""

    names: list[Id]  # type: ignore[assignment]  # of the queries
    features: Tensor  # [B, L, C]
    mask: Tensor  # [B, L]
    words: Tensor  # [B, W, E]
    word_mask: Tensor  # [B, W]
    duration: Tensor  # [B] seconds
    windows: Tensor  # [B, K, 2] start and end as fractions of clips × clip length, in order of centre
    window_mask: Tensor  # [B, K]
    marks: Tensor  # [B, L] annotators' marks of a clip, added
    good: Tensor  # [B, P] clips that must be more salient …
    bad: Tensor  # [B, P] … than these
    videos: list[str] = field(default_factory=list)  # of the items; empty: all are different


# ---------------------------------------------------------------------------------------------------------------------
# Windows


def giou(a: Tensor, b: Tensor) -> Tensor:
    """IoU − (hull − union)/hull of spans that broadcast, −1 … 1; two equal points are alike: 1. [..., 2] → [...]"""
    inter = (torch.minimum(a[..., 1], b[..., 1]) - torch.maximum(a[..., 0], b[..., 0])).clamp(min=0)
    union = (a[..., 1] - a[..., 0]) + (b[..., 1] - b[..., 0]) - inter
    hull = torch.maximum(a[..., 1], b[..., 1]) - torch.minimum(a[..., 0], b[..., 0])
    tiny = torch.finfo(hull.dtype).tiny
    iou = torch.where(union > 0, inter / union.clamp(min=tiny), (hull <= 0).to(hull.dtype))
    return iou - (hull - union) / hull.clamp(min=tiny)


def clip_places(mask: Tensor, dim: int) -> Tensor:
    """Positions of clips: 2π · (l + 1)/clips. [B, L] → [B, L, dim]"""
    at = mask.cumsum(1, dtype=torch.float32)
    return sines(at / (at[:, -1:] + 1e-6), dim)


def clip_ends(mask: Tensor) -> Tensor:
    """Where each clip begins and ends, as fractions of the clips there are; 0 for the others. [B, L] → [B, L, 2]"""
    n = mask.sum(1, keepdim=True).clamp(min=1)
    at = torch.arange(mask.shape[1], device=mask.device) / n
    return torch.stack([at, at + 1 / n], -1) * mask[..., None]


# ---------------------------------------------------------------------------------------------------------------------
# Layers


class Projection(nn.Module):
    """LN → dropout → linear (→ ReLU), once or more; the last without ReLU."""

    def __init__(self, dim: int, config: Config) -> None:
        super().__init__()
        D, n = config.hidden, config.projections
        self.norms = nn.ModuleList(nn.LayerNorm(dim if i == 0 else D) for i in range(n))
        self.layers = nn.ModuleList(nn.Linear(dim if i == 0 else D, D) for i in range(n))
        self.drop = nn.Dropout(config.input_dropout)

    def forward(self, x: Tensor) -> Tensor:
        for i, (norm, layer) in enumerate(zip(self.norms, self.layers, strict=True)):
            x = layer(self.drop(norm(x)))
            if i + 1 < len(self.layers):
                x = F.relu(x)
        return x


class MLP(nn.Module):
    """Linear layers with ReLU between them."""

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(sizes))

    def forward(self, x: Tensor) -> Tensor:
        for i, layer in enumerate(self.layers):
            x = F.relu(layer(x)) if i + 1 < len(self.layers) else layer(x)
        return x


class FeedForward(nn.Module):
    """W2 PReLU(W1 x)"""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(config.hidden, config.feedforward), nn.Linear(config.feedforward, config.hidden)
        self.bend, self.drop = nn.PReLU(), nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.down(self.drop(self.bend(self.up(x))))
        return y


class CrossLayer(nn.Module):
    """Clips read words: x ← x + MHA(x + pos, words);  x ← LN(x + FFN(LN(x))). The first norm is not on the residual."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        D = config.hidden
        self.attention = nn.MultiheadAttention(D, config.heads, config.dropout, batch_first=True)
        self.norm1, self.norm2, self.drop = nn.LayerNorm(D), nn.LayerNorm(D), nn.Dropout(config.dropout)
        self.ffn, self.mixed = FeedForward(config), config.compat_mixed_masks

    def forward(self, x: Tensor, place: Tensor, words: Tensor, mask: Tensor, word_mask: Tensor) -> Tensor:
        """x [B, L, D], words [B, W, D]"""
        padding = ~word_mask[:, None].expand(-1, x.shape[1], -1)  # [B, L, W]
        heads = self.attention.num_heads
        hidden = padding.repeat_interleave(heads, 0)  # [B·H, L, W] item by item
        if self.mixed:  # pads of clips × pads of words, head by head: item b meets the masks of items (b·H + h) mod B
            hidden = hidden | (~mask[:, :, None] & padding).repeat(heads, 1, 1)
        y, _ = self.attention(x + place, words, words, attn_mask=hidden, need_weights=False)
        x = x + self.drop(y)
        z: Tensor = self.norm2(x + self.drop(self.ffn(self.norm1(x))))
        return z


class SelfLayer(nn.Module):
    """x ← LN(x + MHA(x + pos));  x ← LN(x + FFN(x))"""

    def __init__(self, config: Config) -> None:
        super().__init__()
        D = config.hidden
        self.attention = nn.MultiheadAttention(D, config.heads, config.dropout, batch_first=True)
        self.norm1, self.norm2, self.drop = nn.LayerNorm(D), nn.LayerNorm(D), nn.Dropout(config.dropout)
        self.ffn = FeedForward(config)

    def forward(self, x: Tensor, place: Tensor, padding: Tensor) -> Tensor:
        k = x + place
        x = self.norm1(x + self.drop(self.attention(k, k, x, key_padding_mask=padding, need_weights=False)[0]))
        y: Tensor = self.norm2(x + self.drop(self.ffn(x)))
        return y


class AnchorLayer(nn.Module):
    """Anchors among each other, then over the clips, content and place side by side (Conditional and DAB-DETR).

        q ← LN(q + Attn(W q + W p, W q + W p, W q))
        q ← LN(q + Attn([W q (+ W p); W sine], [W m (+ W pos); W pos], W m))     (+ …) in the first layer alone
        q ← LN(q + FFN(q))

    p is the anchor's place, sine its modulated sine code; [·; ·] is joined head by head.
    """

    def __init__(self, config: Config, first: bool) -> None:
        super().__init__()
        D = config.hidden
        self.heads, self.dropout = config.heads, config.dropout
        self.self_query, self.self_query_place = nn.Linear(D, D), nn.Linear(D, D)
        self.self_key, self.self_key_place = nn.Linear(D, D), nn.Linear(D, D)
        self.self_value, self.self_out = nn.Linear(D, D), nn.Linear(D, D)
        self.query, self.query_sine = nn.Linear(D, D), nn.Linear(D, D)
        self.query_place = nn.Linear(D, D) if first else None
        self.key, self.key_place = nn.Linear(D, D), nn.Linear(D, D)
        self.value, self.out = nn.Linear(D, D), nn.Linear(D, D)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)
        self.drop, self.ffn = nn.Dropout(config.dropout), FeedForward(config)

    def attend(self, parts: tuple[list[Tensor], list[Tensor]], v: Tensor, mask: Tensor | None) -> Tensor:
        """softmax(q·k/√d) v per head; q and k are the given parts side by side. [B, N, D], [B, M, D] → [B, N, D]"""

        def split(x: Tensor) -> Tensor:
            return x.view(*x.shape[:-1], self.heads, -1)  # [B, N, heads, d]

        q, k = (torch.cat([split(p) for p in side], -1).transpose(1, 2) for side in parts)
        drop = self.dropout if self.training else 0.0
        attended = F.scaled_dot_product_attention(q, k, split(v).transpose(1, 2), mask, drop)
        return attended.transpose(1, 2).flatten(-2)

    def forward(self, q: Tensor, place: Tensor, sine: Tensor, memory: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        m, pos, mask = memory  # [B, L, D], [B, L, D], [B, L]
        own = (
            [self.self_query(q) + self.self_query_place(place)],
            [self.self_key(q) + self.self_key_place(place)],
        )
        q = self.norm1(q + self.drop(self.self_out(self.attend(own, self.self_value(q), None))))
        here, there, at = self.query(q), self.key(m), self.key_place(pos)
        if self.query_place is not None:
            here, there = here + self.query_place(place), there + at
        across = ([here, self.query_sine(sine)], [there, at])
        q = self.norm2(q + self.drop(self.out(self.attend(across, self.value(m), mask[:, None, None]))))
        y: Tensor = self.norm3(q + self.drop(self.ffn(q)))
        return y


class Decoder(nn.Module):
    """Anchors a = σ(learnt) are moved layer by layer: a ← σ(MLP(q) + σ⁻¹(a)), without gradient between layers.

    sine = sines(2π a) · MLP(q) (1 in the first layer) · σ(MLP(q))/width: wide anchors look widely.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        D = self.dim = config.hidden
        self.layers = nn.ModuleList(AnchorLayer(config, i == 0) for i in range(config.decoder_layers))
        self.norm = nn.LayerNorm(D)
        self.place, self.scale = MLP(D, D, D), MLP(D, D, D)
        self.move, self.width = MLP(D, D, D, 2), MLP(D, D, 1)

    def forward(self, anchors: Tensor, memory: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """anchors before σ [B, Q, 2] → what each layer knows [N, B, Q, D], where its anchors were [N, B, Q, 2]."""
        a = anchors.sigmoid()
        q = memory[0].new_zeros(*a.shape[:2], self.dim)
        knows, where = [], [a]
        for i, layer in enumerate(self.layers):
            code = torch.cat([sines(a[..., j], self.dim // 2) for j in (0, 1)], -1)  # [B, Q, D]
            place = self.place(code)
            sine = code * (self.scale(q) if i else 1.0)
            sine = sine * (self.width(q).sigmoid() / a[..., 1:])
            q = layer(q, place, sine, memory)
            moved = (self.move(q) + logit(a, 1e-3)).sigmoid()
            where.append(moved)
            a = moved.detach()
            knows.append(self.norm(q))
        return torch.stack(knows), torch.stack(where[:-1])


# ---------------------------------------------------------------------------------------------------------------------
# The model


@dataclass
class DetectedWindows:
    """The model's output for a batch. N decoder layers, the last is the answer."""

    logits: Tensor  # [N, B, Q, 2] 0: a window, 1: none
    boxes: Tensor  # [N, B, Q, 2] (centre, width)
    saliency: Tensor  # [B, L]
    foreign: Tensor | None = None  # [B, L] saliency under another item's query …
    strange: Tensor | None = None  # [B] … where there is one

    def spans(self) -> Tensor:
        """[B, Q, 2]"""
        return to_span(self.boxes[-1])

    def scores(self) -> Tensor:
        """How sure each window is. [B, Q]"""
        return self.logits[-1].softmax(-1)[..., 0]


def find_strangers(count: int, videos: Sequence[str], rivals: str, device: torch.device) -> tuple[Tensor, Tensor]:
    """The next item that is about another video, around the end, and whether there is one. [B], [B]"""
    names: Sequence[object] = videos if len(videos) == count else range(count)
    other, there = [], []
    for i in range(count):
        ahead = [(i + step) % count for step in range(1, count + 1)]
        stranger = ahead[0] if rivals == "all" else next((j for j in ahead if names[j] != names[i]), None)
        other.append(i if stranger is None else stranger)
        there.append(stranger is not None)
    return torch.tensor(other, device=device), torch.tensor(there, device=device)


class Model(nn.Module):
    name: ClassVar[str] = "qd_detr"
    config_class: ClassVar[type[Config]] = Config
    inference: ClassVar[tuple[str, ...]] = ("overlap", "join", "rounding", "longest", "nms")
    recipe: ClassVar[dict[str, object]] = {
        "epochs": 200, "batch_size": 32, "optimizer": "adamw", "lr": 1e-4, "weight_decay": 1e-4, "schedule": "constant",
        "clip_norm": 0.1,
    }  # fmt: skip

    def __init__(self, config: Config) -> None:
        super().__init__()
        c = self.config = config
        if c.heads < 1 or c.hidden % c.heads or c.hidden % 4:
            raise SpecError(f"hidden is {c.hidden}; it must be a multiple of 4 and of heads, {c.heads}")
        if not 1 <= c.projections <= 3:
            raise SpecError(f"projections is {c.projections}; there are 1 to 3")
        D = c.hidden
        self.from_clips = Projection(c.feature_dim + (2 if c.ends else 0), c)
        self.from_words = Projection(c.query_dim, c)
        self.token, self.token_place = nn.Parameter(torch.randn(D)), nn.Parameter(torch.randn(D))
        self.cross = nn.ModuleList(CrossLayer(c) for _ in range(c.encoder_layers))
        self.encoder = nn.ModuleList(SelfLayer(c) for _ in range(c.encoder_layers))
        self.decoder = Decoder(c)
        self.anchors = nn.Embedding(c.queries, 2)
        self.span_head, self.class_head = MLP(D, D, D, 2), nn.Linear(D, 2)
        self.clip_saliency, self.token_saliency = nn.Linear(D, D), nn.Linear(D, D)
        self.match: HungarianMatcher | OrderedMatcher
        if c.matcher == "hungarian":
            self.match = HungarianMatcher()
        elif c.matcher == "ordered":
            self.match = OrderedMatcher(complete=True)
        elif c.matcher == "marginal":
            self.match = MarginalMatcher(c.gamma)
        else:
            raise SpecError(f"no matcher is called {c.matcher!r}; there are: hungarian, ordered, marginal")
        self.reset()

    def reset(self) -> None:
        """Xavier in the transformer; torch's own elsewhere."""
        reset_matrices(self.cross, self.encoder, self.decoder)

    # -- forward ------------------------------------------------------------------------------------------------------

    def read(self, clips: Tensor, words: Tensor, mask: Tensor, word_mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Clips that have read the words, the token, and the clips' places. [B, L, D], [B, D], [B, L, D]"""
        B, _, D = clips.shape
        place = clip_places(mask, D)
        x = clips
        for cross in self.cross:
            x = cross(x, place, words, mask, word_mask)
        x = torch.cat([self.token.expand(B, 1, D), x], 1)
        places = torch.cat([self.token_place.expand(B, 1, D), place], 1)
        padding = ~torch.cat([mask.new_ones(B, 1), mask], 1)
        for layer in self.encoder:
            x = layer(x, places, padding)
        return x[:, 1:], x[:, 0], place

    def rate(self, clips: Tensor, token: Tensor) -> Tensor:
        """s_l = (W1 clip_l)·(W2 token)/√D. [B, L]"""
        s: Tensor = (self.clip_saliency(clips) * self.token_saliency(token)[:, None]).sum(-1)
        return s / math.sqrt(clips.shape[-1])

    def forward(self, batch: HighlightBatch, negatives: bool = False) -> DetectedWindows:
        mask, word_mask = batch.mask, batch.word_mask
        features = torch.cat([batch.features, clip_ends(mask)], -1) if self.config.ends else batch.features
        clips, words = self.from_clips(features), self.from_words(batch.words)
        memory, token, place = self.read(clips, words, mask, word_mask)
        anchors = self.anchors.weight.expand(len(mask), -1, -1)
        knows, where = self.decoder(anchors, (memory, place, mask))
        boxes = (self.span_head(knows) + logit(where, 1e-3)).sigmoid()
        detected = DetectedWindows(self.class_head(knows), boxes, self.rate(memory, token))
        if negatives:
            other, detected.strange = find_strangers(len(mask), batch.videos, self.config.rivals, mask.device)
            detected.foreign = self.rate(*self.read(clips, words[other], mask, word_mask[other])[:2])
        return detected

    # -- training -----------------------------------------------------------------------------------------------------

    def loss(self, batch: HighlightBatch) -> dict[str, Tensor]:
        """Weighted sum as "loss"; the last layer's parts by name, the earlier layers' with their number behind."""
        c = self.config
        detected = self(batch, negatives=True)
        parts = self.saliency_losses(detected, batch)
        total = c.weight_saliency * parts["saliency"]
        weights = {"span": c.weight_span, "giou": c.weight_giou, "label": c.weight_label}
        if c.matcher == "marginal":
            weights = {"marginal": 1.0}
        targets = to_box(batch.windows)
        last = len(detected.boxes) - 1
        for i in range(last if not c.early else 0, last + 1):
            layer = self.window_losses(detected.logits[i], detected.boxes[i], targets, batch.window_mask)
            total = total + sum(weight * layer[n] for n, weight in weights.items())
            parts |= {n if i == last else f"{n}_{i}": v for n, v in layer.items()}
        return {"loss": total, **parts}

    def cost(self, logits: Tensor, boxes: Tensor, targets: Tensor) -> Tensor:
        """C[q, k] = 10·L1 − 1·GIoU − 4·p(window). [B, Q, K]"""
        c = self.config
        ours, theirs = boxes[:, :, None], targets[:, None]
        l1 = (ours - theirs).abs().sum(-1)
        p = logits.softmax(-1)[..., :1]
        return c.cost_span * l1 - c.cost_giou * giou(to_span(ours), to_span(theirs)) - c.cost_class * p

    def energy(self, logits: Tensor, boxes: Tensor, targets: Tensor, n: int) -> tuple[Tensor, Tensor]:
        """What a pair adds to n times a layer's weighted loss [B, Q, K], and that loss where there is no pair.

        e[q, k] = 10 · mean|Δ| + 1 · (1 − GIoU) + 4 · n/(B·Q) · (CE(window) − .1 · CE(none))
        """
        c = self.config
        ours, theirs = boxes[:, :, None], targets[:, None]
        window, none = (-logits.log_softmax(-1)).unbind(-1)  # [B, Q] each
        none = c.background * none
        label = c.weight_label * n / none.numel() * (window - none)
        place = c.weight_span * (ours - theirs).abs().mean(-1) + c.weight_giou * (
            1 - giou(to_span(ours), to_span(theirs))
        )
        return place + label[..., None], c.weight_label * none.mean()

    def match_windows(self, logits: Tensor, boxes: Tensor, targets: Tensor, mask: Tensor) -> Matching:
        """Who answers for which window. Only the marginal matcher's value has a gradient."""
        lengths = mask.sum(1)  # [B]
        if self.config.matcher == "marginal":
            n = int(lengths.clamp(max=boxes.shape[1]).sum())
            e, none = self.energy(logits, boxes, targets, n)
            matched = self.match(e, (None, lengths), boxes[..., 0])
            assert matched.value is not None
            return replace(matched, loss=matched.value.sum() / max(n, 1) + none)
        with torch.no_grad():
            return self.match(self.cost(logits, boxes, targets), (None, lengths), boxes[..., 0])

    def window_losses(self, logits: Tensor, boxes: Tensor, targets: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """One layer's losses over all queries of the batch, means over pairs (span: and coordinates) and anchors.

        span   mean |box − target|        giou   mean (1 − GIoU)        label  mean w_y · CE(logits, y), w = 1, .1
        marginal: the free energy of their weighted sum over all ordered matchings; the others are then of the best one.
        """
        matched = self.match_windows(logits, boxes, targets, mask)
        b, q, k = matched.flat()
        is_window = torch.zeros(logits.shape[:2], dtype=torch.bool, device=logits.device)
        is_window[b, q] = True
        weight = logits.new_tensor([1.0, self.config.background])
        wrong = F.cross_entropy(logits.transpose(1, 2), (~is_window).long(), weight, reduction="none")
        ours, theirs = boxes[b, q], targets[b, k]  # [N, 2]
        n = max(len(b), 1)
        losses = {
            "span": (ours - theirs).abs().sum() / (2 * n),
            "giou": (1 - giou(to_span(ours), to_span(theirs))).sum() / n,
            "label": wrong.mean(),
            "class_error": 100.0 * (logits[b, q].detach().argmax(-1) != 0).sum() / n,
        }
        return losses if matched.loss is None else {**losses, "marginal": matched.loss}

    def saliency_losses(self, detected: DetectedWindows, batch: HighlightBatch) -> dict[str, Tensor]:
        """Three parts and their sum.

        rank      1/12 Σ_{r=1…11} mean_b −mean_{l: mark ≥ r} log softmax(s/τ)_l, over own and foreign clips together
        foreign   mean_b Σ_l −log(1 − σ(s_l)), s under another item's query
        pairs     2 · mean max(0, margin + s_bad − s_good)
        """
        c = self.config
        s, mask, marks = detected.saliency, batch.mask, batch.marks
        foreign = s.new_zeros(())
        if detected.foreign is not None and detected.strange is not None:
            mismatched = mask & detected.strange[:, None]
            foreign = (F.softplus(detected.foreign) * mismatched).sum(1).mean()
            s, mask = torch.cat([s, detected.foreign], 1), torch.cat([mask, mismatched], 1)
            marks = torch.cat([marks, torch.zeros_like(marks)], 1)
        s = s.masked_fill(~mask, -1e3) / c.tau
        s = s - s.max(1, keepdim=True).values
        logp = s - (s.exp().sum(1, keepdim=True) + 1e-6).log()  # [B, 2·L]
        level = torch.arange(1, c.levels, device=s.device)[:, None, None]
        above = ((marks >= level) & mask).to(s.dtype)  # [levels − 1, B, 2·L]
        rank = -((above * logp).sum(-1) / (above.sum(-1) + 1e-6)).mean(1).sum() / c.levels
        s_good, s_bad = detected.saliency.gather(1, batch.good), detected.saliency.gather(1, batch.bad)
        pairs = 2 * (c.margin + s_bad - s_good).clamp(min=0).sum() / max(s_good.numel(), 1)
        return {"saliency": rank + foreign + pairs, "rank": rank, "foreign": foreign, "pairs": pairs}

    # -- inference ----------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def predict(self, batch: HighlightBatch) -> list[Ranking]:
        """Windows in seconds, the surest first, and the saliency of every clip."""
        c = self.config
        detected = self(batch)
        clips = batch.mask.sum(1)
        whole = batch.duration if c.compat_duration or c.rounding == "published" else clips * c.clip
        spans = (detected.spans() * whole[:, None, None].to(detected.boxes.dtype)).cpu().double().numpy()
        scores, saliency = detected.scores().cpu().double().numpy(), detected.saliency.cpu()
        rankings = []
        for i, name in enumerate(batch.names):
            end = min(float(batch.duration[i]), float(whole[i])) if c.rounding != "published" else c.longest
            values = saliency[i, : int(clips[i])]
            values = values.half() if c.rounding == "published" else values
            found_spans, found_scores = rank_windows(spans[i], scores[i], end, c)
            rankings.append(Ranking(name, found_spans, found_scores, saliency=values.double().numpy()))
        return rankings


def rank_windows(
    spans: NDArray[np.float64], scores: NDArray[np.float64], end: float, config: Config
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Best first, cut to 0 … end, rounded as configured, overlapping ones suppressed if configured."""
    order = np.argsort(-scores, kind="stable")
    spans, scores = spans[order], scores[order]
    if config.rounding == "published":  # four digits, then whole clips in single precision, as the program has it
        spans, scores = np.round(spans, 4).astype(np.float32), np.round(scores, 4)
    spans = spans.clip(0, end)
    if config.rounding != "no":
        spans = np.round(spans / spans.dtype.type(config.clip)) * spans.dtype.type(config.clip)
    if config.rounding == "clips":
        empty = spans[:, 1] <= spans[:, 0]
        spans[empty, 1] = spans[empty, 0] + config.clip
        late = np.maximum(spans[:, 1:] - math.ceil(end / config.clip) * config.clip, 0)
        spans = np.minimum(spans - late, end)
    spans = spans.astype(np.float64)
    if config.nms is not None:
        best = nms(spans, scores, config.nms, top=None)
        spans, scores = spans[best], scores[best]
    return spans, scores


# ---------------------------------------------------------------------------------------------------------------------
# Weights of the published repository

# The published name, and ours; \1, \2 … stand for numbers. What is not in this table has no place here.
OFFICIAL: tuple[tuple[str, str], ...] = (
    (r"global_rep_token", "token"),
    (r"global_rep_pos", "token_place"),
    (r"query_embed\.weight", "anchors.weight"),
    (r"class_embed\.(\w+)", r"class_head.\1"),
    (r"span_embed\.layers\.(\d+)\.(\w+)", r"span_head.layers.\1.\2"),
    (r"saliency_proj1\.(\w+)", r"clip_saliency.\1"),
    (r"saliency_proj2\.(\w+)", r"token_saliency.\1"),
    (r"input_vid_proj\.(\d+)\.LayerNorm\.(\w+)", r"from_clips.norms.\1.\2"),
    (r"input_vid_proj\.(\d+)\.net\.1\.(\w+)", r"from_clips.layers.\1.\2"),
    (r"input_txt_proj\.(\d+)\.LayerNorm\.(\w+)", r"from_words.norms.\1.\2"),
    (r"input_txt_proj\.(\d+)\.net\.1\.(\w+)", r"from_words.layers.\1.\2"),
    (r"transformer\.t2v_encoder\.layers\.(\d+)\.self_attn\.(.+)", r"cross.\1.attention.\2"),
    (r"transformer\.t2v_encoder\.layers\.(\d+)\.(norm\d\.\w+)", r"cross.\1.\2"),
    (r"transformer\.t2v_encoder\.layers\.(\d+)\.linear1\.(\w+)", r"cross.\1.ffn.up.\2"),
    (r"transformer\.t2v_encoder\.layers\.(\d+)\.linear2\.(\w+)", r"cross.\1.ffn.down.\2"),
    (r"transformer\.t2v_encoder\.layers\.(\d+)\.activation\.weight", r"cross.\1.ffn.bend.weight"),
    (r"transformer\.encoder\.layers\.(\d+)\.self_attn\.(.+)", r"encoder.\1.attention.\2"),
    (r"transformer\.encoder\.layers\.(\d+)\.(norm\d\.\w+)", r"encoder.\1.\2"),
    (r"transformer\.encoder\.layers\.(\d+)\.linear1\.(\w+)", r"encoder.\1.ffn.up.\2"),
    (r"transformer\.encoder\.layers\.(\d+)\.linear2\.(\w+)", r"encoder.\1.ffn.down.\2"),
    (r"transformer\.encoder\.layers\.(\d+)\.activation\.weight", r"encoder.\1.ffn.bend.weight"),
    (r"transformer\.decoder\.norm\.(\w+)", r"decoder.norm.\1"),
    (r"transformer\.decoder\.query_scale\.(.+)", r"decoder.scale.\1"),
    (r"transformer\.decoder\.ref_point_head\.(.+)", r"decoder.place.\1"),
    (r"transformer\.decoder\.bbox_embed\.(.+)", r"decoder.move.\1"),
    (r"transformer\.decoder\.ref_anchor_head\.(.+)", r"decoder.width.\1"),
    (r"transformer\.decoder\.layers\.(\d+)\.sa_qcontent_proj\.(\w+)", r"decoder.layers.\1.self_query.\2"),
    (r"transformer\.decoder\.layers\.(\d+)\.sa_qpos_proj\.(\w+)", r"decoder.layers.\1.self_query_place.\2"),
    (r"transformer\.decoder\.layers\.(\d+)\.sa_kcontent_proj\.(\w+)", r"decoder.layers.\1.self_key.\2"),
    (r"transformer\.decoder\.layers\.(\d+)\.sa_kpos_proj\.(\w+)", r"decoder.layers.\1.self_key_place.\2"),
    (r"transformer\.decoder\.layers\.(\d+)\.sa_v_proj\.(\w+)", r"decoder.layers.\1.self_value.\2"),
    (r"transformer\.decoder\.layers\.(\d+)\.self_attn\.out_proj\.(\w+)", r"decoder.layers.\1.self_out.\2"),
    (r"transformer\.decoder\.layers\.(\d+)\.ca_qcontent_proj\.(\w+)", r"decoder.layers.\1.query.\2"),
    (r"transformer\.decoder\.layers\.(\d+)\.ca_qpos_proj\.(\w+)", r"decoder.layers.\1.query_place.\2"),
    (r"transformer\.decoder\.layers\.(\d+)\.ca_kcontent_proj\.(\w+)", r"decoder.layers.\1.key.\2"),
    (r"transformer\.decoder\.layers\.(\d+)\.ca_kpos_proj\.(\w+)", r"decoder.layers.\1.key_place.\2"),
    (r"transformer\.decoder\.layers\.(\d+)\.ca_v_proj\.(\w+)", r"decoder.layers.\1.value.\2"),
    (r"transformer\.decoder\.layers\.(\d+)\.ca_qpos_sine_proj\.(\w+)", r"decoder.layers.\1.query_sine.\2"),
    (r"transformer\.decoder\.layers\.(\d+)\.cross_attn\.out_proj\.(\w+)", r"decoder.layers.\1.out.\2"),
    (r"transformer\.decoder\.layers\.(\d+)\.linear1\.(\w+)", r"decoder.layers.\1.ffn.up.\2"),
    (r"transformer\.decoder\.layers\.(\d+)\.linear2\.(\w+)", r"decoder.layers.\1.ffn.down.\2"),
    (r"transformer\.decoder\.layers\.(\d+)\.activation\.weight", r"decoder.layers.\1.ffn.bend.weight"),
    (r"transformer\.decoder\.layers\.(\d+)\.(norm\d\.\w+)", r"decoder.layers.\1.\2"),
)
UNUSED = (r"txt_position_embed\..+",)  # in the published state, and read by nothing there


def read_sizes(state: Mapping[str, Tensor]) -> dict[str, object]:
    """The fields of Config that follow from the shapes of a state under our names; heads and seconds do not.

    Published weights read a clip's two ends among its features (`ends`); others say so in their config.
    """

    def count(pattern: str) -> int:
        return len({m[1] for name in state if (m := re.match(pattern, name))})

    D, C = state["from_clips.layers.0.weight"].shape
    return {
        "feature_dim": C - 2, "ends": True, "hidden": D, "query_dim": state["from_words.layers.0.weight"].shape[1],
        "queries": len(state["anchors.weight"]), "feedforward": len(state["cross.0.ffn.up.bias"]),
        "encoder_layers": count(r"encoder\.(\d+)\."), "decoder_layers": count(r"decoder\.layers\.(\d+)\."),
        "projections": count(r"from_clips\.layers\.(\d+)\."),
    }  # fmt: skip
