"""Full definition of PDVC (Wang et al., ICCV 2021), all of it in this single file; matching of Batra et al., BMVC 2022.

End-to-end dense video captioning with parallel decoding: a fixed set of event queries reads a multi-scale encoding of
the video; each query says how likely it is an event, where it lies and in which words; a counter says how many to keep.

    features [B, T, C] → 4 levels (T, T/2, T/4, T/8) → deformable encoder → memory [B, S, D]
    100 queries → deformable decoder, boxes refined layer by layer → class, box, count, caption per layer
    training:   queries ↔ steps by a matcher; focal class + GIoU + counter + caption losses on every layer
    inference:  top-n queries by joint score, n from the counter, told in order of time

Decided where paper, published code and the PSS paper's partial code (github.com/ttengwang/PDVC,
github.com/anilbatra2185/pss_soda_matching) disagree or are silent:

- Ordered matchers sort queries by centre, whole rows. The published code sorts centres and lengths independently, so
  that lengths no longer belong to their centres in the cost; `compat_independent_sort` does the same.
- Steps that an ordered matcher leaves out: with "ordered" they have no loss, unless all are left out (then step i takes
  the i-th query by centre); with "soft" each takes a random free query. Both as the PSS code; `missing` chooses.
- The soft matcher's loss has weight 1 per layer (the published code has no weight for it: its criterion is not public).
- The PSS code differentiates the soft loss through the whole matching cost, whose class term falls to −27 per step as
  p → 1 where GIoU can win 8: any sure query is rewarded, wherever it lies, and late in training the loss runs away
  while validation stands or falls. By default its gradient reaches the boxes alone; `soft_class=True` is theirs.
- Every step of a video is a target (data.py); the published default drops all but 10.
- Sampling outside a level takes its border value (the PyTorch path; Deformable-DETR's CUDA kernel takes 0).
- The captioner's attention returns its 16 samples unweighted; the unused weight and output layers are not built.
- At inference the published code adds the first reference to centre *and* length where training adds it to the
  centre alone; only models of one decoder layer would notice. Here both do what training does.
- `loss_self_iou` has no weight there and divides by zero for one pair: it is not computed.
- Durations beyond `duration_bins` seconds saturate (256 as published, though YouCook2's mean is 329 s).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from fabula.core.errors import SpecError
from fabula.core.nouns import Event, Segment, Story
from fabula.learn.data import Batch, Vocabulary
from fabula.learn.matchers import HungarianMatcher, OrderedMatcher, SoftOrderedMatcher

# How many of ActivityNet's training videos have k events, k = 0, 1, 2, …: weights of the counter loss, as published.
ACTIVITYNET_COUNTS = (0.0, 0.0, 0.1934, 0.4121, 0.1889, 0.0781, 0.0510, 0.0313, 0.0185, 0.0084, 0.0066, 0.0045, 0.0022,
                      0.0018, 0.0006, 0.0005, 0.0005, 0.0002, 0.0003, 0.0004, 0.0003)  # fmt: skip


@dataclass(frozen=True)
class Config:
    """PDVC for YouCook2 as published; `Config.tiny()` runs on a laptop."""

    feature_dim: int = 512  # C: S3D 512 or 1024, TSN 3072
    frames: int | None = 200  # T: features are resized to this (Tasty 150); None keeps their length
    hidden: int = 512  # D: width of the transformer
    heads: int = 8  # of every attention but the captioner's, which has 1
    encoder_layers: int = 2
    decoder_layers: int = 2
    feedforward: int = 512  # width of the transformer's feed-forward layers
    dropout: float = 0.1  # in the transformer
    levels: int = 4  # L: temporal scales
    points: int = 4  # P: sampled positions per head and level
    norm_groups: int = 32  # of the GroupNorm after each level's convolution
    duration_bins: int = 256  # seconds of the thermometer code; longer videos saturate
    queries: int = 100  # Q: at most so many events
    max_count: int = 20  # the counter's largest answer
    # captions
    captioner: Literal["standard", "light", "none"] = "standard"  # LSTM with deformable soft attention; plain; none
    vocabulary: tuple[str, ...] = ()  # words 1 … V, the last is <unk>; 0 is begin, end and padding
    max_words: int = 30  # tokens of a caption, both ends included
    word_dim: int = 512  # word embedding
    rnn: int = 512  # hidden size of the LSTM and of its attention
    caption_dropout: float = 0.5  # on the LSTM's output
    # matching
    matcher: Literal["hungarian", "ordered", "soft"] = "hungarian"
    gamma: float = 0.01  # temperature of the soft matcher
    smooth: Literal["expectation", "logsumexp"] = (
        "expectation"  # smoothMin: as the PSS code runs it, or soft-DTW's form
    )
    missing: Literal["auto", "no", "random", "cheapest"] = (
        "auto"  # queries for unmatched steps; auto: PSS code, see top
    )
    compat_independent_sort: bool = False  # sort centres and lengths independently (the PSS code's bug)
    cost_class: float = 2.0  # weights of the matching cost
    cost_giou: float = 4.0
    cost_l1: float = 0.0
    # losses
    weight_class: float = 2.0
    weight_giou: float = 4.0
    weight_l1: float = 0.0
    weight_counter: float = 0.5
    weight_caption: float = 2.0
    weight_soft: float = 1.0  # the soft matcher's value ÷ steps, once per layer
    soft_class: bool = False  # its gradient reaches the class logits too, as in the PSS code: see top
    focal_alpha: float = 0.25
    focal_gamma: float = 2.0
    count_rates: tuple[float, ...] = ACTIVITYNET_COUNTS  # frequency of each count; () weighs all alike
    # inference
    ec_alpha: float = (
        1.0  # weight of the caption's score in the ranking (1.0 for YouCook2, the option's default is 0.3)
    )
    length_power: float = 2.0  # a caption's log-probability is divided by words ** this
    proposals: Literal["learned", "gt"] = "learned"  # gt: queries are the true segments; only captions are learnt

    @classmethod
    def tiny(cls, **changes: Any) -> Config:
        """Runs on a laptop in minutes."""
        small = cls(
            frames=96, hidden=64, heads=4, feedforward=128, levels=3, norm_groups=8, queries=20, word_dim=32, rnn=64,
            captioner="light", max_words=16, dropout=0.0, caption_dropout=0.1,
        )  # fmt: skip
        return replace(small, **changes)


# ---------------------------------------------------------------------------------------------------------------------
# Boxes: (centre, length) or (start, end), as fractions of the video


def to_span(box: Tensor) -> Tensor:
    """(centre, length) → (start, end). [..., 2]"""
    c, l = box.unbind(-1)  # noqa: E741
    return torch.stack([c - l / 2, c + l / 2], -1)


def to_box(span: Tensor) -> Tensor:
    """(start, end) → (centre, length). [..., 2]"""
    s, e = span.unbind(-1)
    return torch.stack([(s + e) / 2, e - s], -1)


def giou(a: Tensor, b: Tensor, eps: float = 1e-5) -> Tensor:
    """Generalised IoU of all spans a, b: IoU − (hull − union)/hull. [..., N, 2], [..., M, 2] → [..., N, M]"""
    a, b = a[..., :, None, :], b[..., None, :, :]
    inter = (torch.minimum(a[..., 1], b[..., 1]) - torch.maximum(a[..., 0], b[..., 0])).clamp(min=0)
    union = (a[..., 1] - a[..., 0]) + (b[..., 1] - b[..., 0]) - inter
    hull = (torch.maximum(a[..., 1], b[..., 1]) - torch.minimum(a[..., 0], b[..., 0])).clamp(min=0)
    return inter / (union + eps) - (hull - union) / (hull + eps)


def logit(p: Tensor, eps: float = 1e-5) -> Tensor:
    """σ⁻¹, finite at 0 and 1."""
    p = p.clamp(0, 1)
    return torch.log(p.clamp(min=eps) / (1 - p).clamp(min=eps))


# ---------------------------------------------------------------------------------------------------------------------
# Deformable attention in one dimension


class Deformable(nn.Module):
    """Each query looks at P positions per head and level, near its reference (Zhu et al., ICLR 2021, in 1-D).

        x_hlp = ref_l + Δ_hlp / T_l            for a reference point
        x_hlp = c_l + Δ_hlp / P · len_l / 2    for a reference box (centre c, length len)
        out   = W_o Σ_lp A_hlp · V_hl(x_hlp)   A = softmax over level × point;  Δ, A linear in the query

    V is read at x by linear interpolation between frame centres (i + ½)/T, beyond the ends its border value.
    """

    def __init__(
        self, hidden: int, heads: int, levels: int, points: int, query_dim: int, weighted: bool = True
    ) -> None:
        super().__init__()
        self.heads, self.levels, self.points = heads, levels, points
        self.value = nn.Linear(hidden, hidden)
        self.offset = nn.Linear(query_dim, heads * levels * points)
        self.weight = nn.Linear(query_dim, heads * levels * points) if weighted else None
        self.out = nn.Linear(hidden, hidden) if weighted else None

    def reset(self) -> None:
        """Offsets begin as ±1, ±2, … frames by head, weights as uniform."""
        angle = 2 * math.pi * torch.arange(self.heads) / self.heads
        way = angle.cos() / torch.maximum(angle.cos().abs(), angle.sin().abs())  # [H]
        bias = way[:, None, None] * torch.arange(1.0, self.points + 1).expand(self.levels, -1)  # [H, L, P]
        nn.init.zeros_(self.offset.weight)
        self.offset.bias.data.copy_(bias.flatten())
        for layer in (self.value, self.out):
            if layer is not None:
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)
        if self.weight is not None:
            nn.init.zeros_(self.weight.weight)
            nn.init.zeros_(self.weight.bias)

    def values(self, memory: Tensor, padding: Tensor) -> Tensor:
        """V, nothing where the video is padded. [B, S, D]"""
        v: Tensor = self.value(memory)
        return v.masked_fill(padding[..., None], 0.0)

    def samples(self, query: Tensor, reference: Tensor, value: Tensor, lengths: Sequence[int]) -> list[Tensor]:
        """V at the sampled positions by level. query [B, Q, E], reference [B, Q, L, 1|2] → L × [B·H, D/H, Q, P]"""
        B, Q, _ = query.shape
        H, L, P = self.heads, self.levels, self.points
        delta = self.offset(query).view(B, Q, H, L, P)
        if reference.shape[-1] == 1:
            T = torch.tensor(lengths, dtype=query.dtype, device=query.device)
            x = reference[:, :, None, :, :] + delta / T[:, None]  # [B, Q, H, L, P]
        else:
            x = reference[:, :, None, :, :1] + delta / P * reference[:, :, None, :, 1:] * 0.5
        grid = x.permute(3, 0, 2, 1, 4).reshape(L, B * H, Q, P) * 2 - 1
        found = []
        for level, v in enumerate(torch.split(value, list(lengths), dim=1)):
            v = v.view(B, lengths[level], H, -1).permute(0, 2, 3, 1).flatten(0, 1)[:, :, None]  # [B·H, D/H, 1, T_l]
            at = torch.stack([grid[level], torch.zeros_like(grid[level])], -1)
            found.append(F.grid_sample(v, at, mode="bilinear", padding_mode="border", align_corners=False))
        return found

    def forward(
        self, query: Tensor, reference: Tensor, memory: Tensor, padding: Tensor, lengths: Sequence[int]
    ) -> Tensor:
        B, Q, _ = query.shape
        H, L, P = self.heads, self.levels, self.points
        assert self.weight is not None and self.out is not None
        A = self.weight(query).view(B, Q, H, L * P).softmax(-1).view(B, Q, H, L, P)
        A = A.permute(3, 0, 2, 1, 4).reshape(L, B * H, 1, Q, P)
        found = self.samples(query, reference, self.values(memory, padding), lengths)
        mixed = sum((v * A[level]).sum(-1) for level, v in enumerate(found))  # [B·H, D/H, Q]
        assert isinstance(mixed, Tensor)
        y: Tensor = self.out(mixed.view(B, -1, Q).transpose(1, 2))
        return y


# ---------------------------------------------------------------------------------------------------------------------
# Encoder


class Pyramid(nn.Module):
    """Features at L scales with their positions: conv k=1, then conv k=3 stride 2; GroupNorm after each.

    Level 1 reads the raw features like level 0, levels 2, 3, … the level before. GroupNorm sees padded frames, as
    published: batches of equal length (frames=…) have none.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        C, D = config.feature_dim, config.hidden
        convs = [nn.Conv1d(C, D, 1)]
        convs += [nn.Conv1d(C if i == 1 else D, D, 3, stride=2, padding=1) for i in range(1, config.levels)]
        self.convs = nn.ModuleList(convs)
        self.norms = nn.ModuleList(nn.GroupNorm(config.norm_groups, D) for _ in convs)
        self.duration = nn.Linear(config.duration_bins, D - D // 2)
        self.level = nn.Parameter(torch.empty(config.levels, D))
        self.sine_dim, self.bins = D // 2, config.duration_bins

    def reset(self) -> None:
        for conv in self.convs:
            nn.init.xavier_uniform_(conv.weight, gain=1)  # type: ignore[arg-type]
            nn.init.zeros_(conv.bias)  # type: ignore[arg-type]
        nn.init.normal_(self.level)

    def forward(
        self, features: Tensor, mask: Tensor, duration: Tensor
    ) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """[B, T, C] → per level: features [B, T_l, D], positions [B, T_l, D], mask [B, T_l]."""
        raw = (features * mask[..., None]).transpose(1, 2)  # [B, C, T]
        levels: list[Tensor] = []
        masks: list[Tensor] = []
        places: list[Tensor] = []
        seconds = torch.arange(self.bins, device=duration.device)
        thermometer = (seconds < duration.floor()[:, None]).to(raw.dtype)  # [B, bins]
        length = self.duration(thermometer)[:, None]  # [B, 1, D/2]
        x = raw
        for i, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            x = norm(conv(raw if i < 2 else x))
            m = F.interpolate(mask[:, None].to(raw.dtype), size=x.shape[-1], mode="nearest")[:, 0] > 0.5
            levels.append(x.transpose(1, 2))
            masks.append(m)
            sine = sines((m.cumsum(1) - 0.5) / m.sum(1, keepdim=True).clamp(min=1), self.sine_dim)
            places.append(torch.cat([sine, length.expand(-1, x.shape[-1], -1)], -1) + self.level[i])
        return levels, places, masks


def sines(x: Tensor, dim: int) -> Tensor:
    """x ∈ [0, 1] → sin and cos of 2πx at dim/2 wavelengths up to 10⁴. [...] → [..., dim]"""
    wave = 10_000 ** (2 * torch.div(torch.arange(dim, device=x.device), 2, rounding_mode="floor") / dim)
    phase = x[..., None] * 2 * math.pi / wave
    return torch.stack([phase[..., 0::2].sin(), phase[..., 1::2].cos()], -1).flatten(-2)


class FeedForward(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(config.hidden, config.feedforward), nn.Linear(config.feedforward, config.hidden)
        self.norm, self.drop = nn.LayerNorm(config.hidden), nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.norm(x + self.drop(self.down(self.drop(F.relu(self.up(x))))))
        return y


class EncoderLayer(nn.Module):
    """x ← LN(x + deformable(x + pos));  x ← LN(x + FFN(x))"""

    def __init__(self, config: Config) -> None:
        super().__init__()
        D = config.hidden
        self.attention = Deformable(D, config.heads, config.levels, config.points, D)
        self.norm, self.drop, self.ffn = nn.LayerNorm(D), nn.Dropout(config.dropout), FeedForward(config)

    def forward(self, x: Tensor, place: Tensor, reference: Tensor, padding: Tensor, lengths: Sequence[int]) -> Tensor:
        x = self.norm(x + self.drop(self.attention(x + place, reference, x, padding, lengths)))
        y: Tensor = self.ffn(x)
        return y


@dataclass
class Memory:
    """The encoded video: all levels in a row, S = Σ T_l."""

    x: Tensor  # [B, S, D]
    padding: Tensor  # [B, S] True where there is no frame
    lengths: list[int]  # T_l
    ratios: Tensor  # [B, L] the share of each level that is not padding


# ---------------------------------------------------------------------------------------------------------------------
# Decoder


class DecoderLayer(nn.Module):
    """q ← LN(q + MHA(q + pos));  q ← LN(q + deformable(q + pos, memory));  q ← LN(q + FFN(q))"""

    def __init__(self, config: Config) -> None:
        super().__init__()
        D = config.hidden
        self.attention = nn.MultiheadAttention(D, config.heads, config.dropout, batch_first=True)
        self.cross = Deformable(D, config.heads, config.levels, config.points, D)
        self.norm1, self.norm2, self.drop = nn.LayerNorm(D), nn.LayerNorm(D), nn.Dropout(config.dropout)
        self.ffn = FeedForward(config)

    def forward(self, q: Tensor, place: Tensor, reference: Tensor, memory: Memory, unused: Tensor | None) -> Tensor:
        k = q + place
        q = self.norm1(q + self.drop(self.attention(k, k, q, key_padding_mask=unused, need_weights=False)[0]))
        q = self.norm2(q + self.drop(self.cross(q + place, reference, memory.x, memory.padding, memory.lengths)))
        y: Tensor = self.ffn(q)
        return y


class BoxHead(nn.Sequential):
    """Three layers; the last begins as 0."""

    def __init__(self, D: int) -> None:
        super().__init__(nn.Linear(D, D), nn.ReLU(), nn.Linear(D, D), nn.ReLU(), nn.Linear(D, 2))

    @property
    def last(self) -> nn.Linear:
        layer = self[4]
        assert isinstance(layer, nn.Linear)
        return layer


@dataclass
class Layer:
    """What one decoder layer says. `reference` is where its queries looked, before it moved them."""

    hidden: Tensor  # [B, Q, D]
    reference: Tensor  # [B, Q, 1] or [B, Q, 2]
    logits: Tensor  # [B, Q] event or not
    boxes: Tensor  # [B, Q, 2] (centre, length)
    counts: Tensor  # [B, max_count + 1] logits


# ---------------------------------------------------------------------------------------------------------------------
# Captioner


class Captioner(nn.Module):
    """A caption per event query: LSTM with deformable soft attention ("standard") or without ("light").

        clip = the L·P vectors that [h_{t−1}; query] samples near the event's reference
        a    = softmax(w · tanh(W_c clip + W_h h_{t−1})),   context = Σ a · clip
        h_t  = LSTM([word_t; context; query], h_{t−1}),     p(word_{t+1}) = softmax(W dropout(h_t))

    light: the LSTM's input is [word; query]. One captioner serves all decoder layers.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        D, R, V = config.hidden, config.rnn, len(config.vocabulary)
        self.attends = config.captioner == "standard"
        self.words = nn.Embedding(V + 1, config.word_dim)
        self.lstm = nn.LSTM(config.word_dim + D + (D if self.attends else 0), R, bias=False, batch_first=True)
        self.drop, self.out = nn.Dropout(config.caption_dropout), nn.Linear(R, V + 1)
        if self.attends:
            self.clip = Deformable(D, 1, config.levels, config.points, R + D, weighted=False)
            self.from_clip, self.from_state, self.energy = nn.Linear(D, R), nn.Linear(R, R), nn.Linear(R, 1)

    def reset(self) -> None:
        nn.init.uniform_(self.words.weight, -0.1, 0.1)
        nn.init.uniform_(self.out.weight, -0.1, 0.1)
        nn.init.zeros_(self.out.bias)

    def context(self, h: Tensor, query: Tensor, reference: Tensor, value: Tensor, lengths: Sequence[int]) -> Tensor:
        """Soft attention over what the state and the query sample. [B, K, R], [B, K, D] → [B, K, D]"""
        found = self.clip.samples(torch.cat([h, query], -1), reference, value, lengths)
        clip = torch.cat(found, -1).permute(0, 2, 3, 1)  # [B, K, L·P, D]
        a = self.energy(torch.tanh(self.from_clip(clip) + self.from_state(h)[:, :, None])).softmax(2)
        mixed: Tensor = (a * clip).sum(2)
        return mixed

    def step(
        self,
        word: Tensor,
        state: tuple[Tensor, Tensor],
        query: Tensor,
        reference: Tensor,
        value: Tensor,
        memory: Memory,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """One word further for K captions of B videos. word [B, K] → log-probabilities [B, K, V + 1]"""
        B, K, _ = query.shape
        parts = [self.words(word), query]
        if self.attends:
            h = state[0].view(B, K, -1)
            parts.insert(1, self.context(h, query, reference, value, memory.lengths))
        y, state = self.lstm(torch.cat(parts, -1).view(B * K, 1, -1), state)
        return self.out(self.drop(y)).view(B, K, -1).log_softmax(-1), state

    def start(self, query: Tensor) -> tuple[Tensor, Tensor]:
        zero = query.new_zeros(1, query.shape[0] * query.shape[1], self.lstm.hidden_size)
        return zero, zero

    def values(self, memory: Memory) -> Tensor:
        return self.clip.values(memory.x, memory.padding) if self.attends else memory.x

    def forward(self, query: Tensor, reference: Tensor, tokens: Tensor, memory: Memory) -> Tensor:
        """Teacher forcing: log-probabilities of tokens[1:] given tokens[:-1]. [B, K, W] → [B, K, W − 1, V + 1]"""
        B, K, W = tokens.shape
        if not self.attends:
            x = torch.cat([self.words(tokens[..., :-1]), query[:, :, None].expand(-1, -1, W - 1, -1)], -1)
            y, _ = self.lstm(x.flatten(0, 1))
            light: Tensor = self.out(self.drop(y)).view(B, K, W - 1, -1).log_softmax(-1)
            return light
        value, state, told = self.values(memory), self.start(query), []
        for t in range(W - 1):
            logp, state = self.step(tokens[..., t], state, query, reference, value, memory)
            told.append(logp)
        return torch.stack(told, 2)

    def greedy(self, query: Tensor, reference: Tensor, memory: Memory, max_words: int) -> tuple[Tensor, Tensor]:
        """The likeliest word each time, up to the first 0: tokens [B, Q, ≤ max_words], Σ log p of the words [B, Q]."""
        word = query.new_zeros(query.shape[:2], dtype=torch.long)
        value, state = self.values(memory), self.start(query)
        score, going, told = query.new_zeros(query.shape[:2]), torch.ones_like(word, dtype=torch.bool), []
        for _ in range(max_words):
            logp, state = self.step(word, state, query, reference, value, memory)
            best, word = logp.max(-1)
            going = going & (word != 0)
            word = word * going
            score = score + best * going
            told.append(word)
            if not going.any():
                break
        return torch.stack(told, -1), score


# ---------------------------------------------------------------------------------------------------------------------
# The model


class Model(nn.Module):
    name: ClassVar[str] = "pdvc"
    config_class: ClassVar[type[Config]] = Config
    recipe: ClassVar[dict[str, Any]] = {
        "epochs": 30, "batch_size": 1, "lr": 5e-5, "weight_decay": 1e-4, "betas": (0.9, 0.999),
        "decay": 0.5, "decay_from": 8, "decay_every": 3, "clip_norm": 100.0,
    }  # fmt: skip

    def __init__(self, config: Config) -> None:
        super().__init__()
        c = self.config = config
        if config.captioner != "none" and not config.vocabulary:
            raise SpecError("a captioner needs a vocabulary; build one, or say captioner='none'")
        if config.proposals == "gt" and config.captioner == "none":
            raise SpecError("proposals='gt' trains captions alone, and captioner='none' has none")
        D = c.hidden
        self.pyramid = Pyramid(c)
        self.encoder = nn.ModuleList(EncoderLayer(c) for _ in range(c.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(c) for _ in range(c.decoder_layers))
        if c.proposals == "learned":
            self.queries = nn.Embedding(c.queries, 2 * D)
            self.reference = nn.Linear(D, 1)
            self.box_heads = nn.ModuleList(BoxHead(D) for _ in self.decoder)
            self.class_heads = nn.ModuleList(nn.Linear(D, 1) for _ in self.decoder)
            self.count_heads = nn.ModuleList(nn.Linear(D, c.max_count + 1) for _ in self.decoder)
        else:
            self.from_box, self.from_box_norm = nn.Linear(2 * (D // 2), 2 * D), nn.LayerNorm(2 * D)
        self.captioner = Captioner(c) if c.captioner != "none" else None
        self.words = Vocabulary(c.vocabulary) if c.vocabulary else None
        rates = torch.tensor(c.count_rates or (0.0,))[: c.max_count + 1]
        self.register_buffer("count_weight", 1 - F.pad(rates, (0, c.max_count + 1 - len(rates))), persistent=False)
        self.match: HungarianMatcher | OrderedMatcher
        if c.matcher == "hungarian":
            self.match = HungarianMatcher()
        elif c.matcher == "ordered":
            self.match = OrderedMatcher("no" if c.missing == "auto" else c.missing)
        elif c.matcher == "soft":
            self.match = SoftOrderedMatcher(c.gamma, c.smooth, "random" if c.missing == "auto" else c.missing)
        else:
            raise SpecError(f"no matcher is called {c.matcher!r}; there are: hungarian, ordered, soft")
        self.reset()

    def reset(self) -> None:
        """Xavier everywhere, then what the paper's code sets by hand."""
        for part in (self.encoder, self.decoder):
            for p in part.parameters():
                if p.dim() > 1:
                    nn.init.xavier_uniform_(p)
        for m in self.modules():
            if isinstance(m, Deformable | Pyramid | Captioner):
                m.reset()
        if self.config.proposals == "learned":
            nn.init.xavier_uniform_(self.reference.weight)
            nn.init.zeros_(self.reference.bias)
            for i, (box, cls) in enumerate(zip(self.box_heads, self.class_heads, strict=True)):
                assert isinstance(box, BoxHead) and isinstance(cls, nn.Linear)
                if i:  # clones: all layers' heads begin alike
                    box.load_state_dict(copy.deepcopy(self.box_heads[0].state_dict()))
                    cls.load_state_dict(copy.deepcopy(self.class_heads[0].state_dict()))
                    self.count_heads[i].load_state_dict(copy.deepcopy(self.count_heads[0].state_dict()))
                nn.init.constant_(cls.bias, -math.log(99))  # 1 query in 100 is an event
                nn.init.zeros_(box.last.weight)
                nn.init.zeros_(box.last.bias)
            first = self.box_heads[0]
            assert isinstance(first, BoxHead)
            first.last.bias.data[1] = -2.0  # begin short: σ(−2) = .12 of the video

    # -- forward ------------------------------------------------------------------------------------------------------

    def encode(self, batch: Batch) -> Memory:
        levels, places, masks = self.pyramid(batch.features, batch.mask, batch.duration)
        lengths = [x.shape[1] for x in levels]
        x, place, padding = torch.cat(levels, 1), torch.cat(places, 1), ~torch.cat(masks, 1)
        ratios = torch.stack([m.float().mean(1) for m in masks], 1)  # [B, L]
        own = []  # each frame's own place, as a fraction of what is not padding
        for i, T in enumerate(lengths):
            centres = (torch.arange(T, device=x.device) + 0.5) / T
            own.append(centres / ratios[:, i : i + 1].clamp(min=1e-6))  # [B, T_l]
        reference = torch.cat(own, 1)[:, :, None, None] * ratios[:, None, :, None]  # [B, S, L, 1]
        for layer in self.encoder:
            x = layer(x, place, reference, padding, lengths)
        return Memory(x, padding, lengths, ratios)

    def decode(self, batch: Batch, memory: Memory) -> list[Layer]:
        B = len(batch.videos)
        D = self.config.hidden
        unused: Tensor | None = None
        if self.config.proposals == "learned":
            place, q = torch.chunk(self.queries.weight[None].expand(B, -1, -1), 2, -1)
            reference = self.reference(place).sigmoid()  # [B, Q, 1]
        else:
            reference, unused = to_box(batch.spans), ~batch.span_mask  # [B, K, 2]
            code = torch.cat([sines(reference[..., 0], D // 2), sines(reference[..., 1], D // 2)], -1)
            place, q = torch.chunk(self.from_box_norm(self.from_box(code)), 2, -1)
        layers = []
        for i, layer in enumerate(self.decoder):
            looked = reference[:, :, None] * memory.ratios[:, None, :, None]  # [B, Q, L, 1|2]
            q = layer(q, place, looked, memory, unused)
            if self.config.proposals == "gt":
                none = q.new_zeros(q.shape[:2])
                layers.append(Layer(q, reference, none, reference, q.new_zeros(B, 1)))
                continue
            moved = self.box_heads[i](q)  # box ← σ(moved + σ⁻¹(reference)); a point moves the centre alone
            here = logit(reference) if reference.shape[-1] == 2 else F.pad(logit(reference), (0, 1))
            boxes = (moved + here).sigmoid()
            counts = self.count_heads[i](q.max(1).values)
            layers.append(Layer(q, reference, self.class_heads[i](q)[..., 0], boxes, counts))
            reference = boxes.detach()
        return layers

    # -- training -----------------------------------------------------------------------------------------------------

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Weighted sum as "loss", the last layer's parts by name, the earlier layers' with their number behind."""
        c = self.config
        memory = self.encode(batch)
        layers = self.decode(batch, memory)
        targets = to_box(batch.spans)
        n = steps_per_process(batch.span_mask)
        weights = {"class": c.weight_class, "giou": c.weight_giou, "l1": c.weight_l1, "counter": c.weight_counter,
                   "caption": c.weight_caption, "soft": c.weight_soft}  # fmt: skip
        total = batch.features.new_zeros(())
        named: dict[str, Tensor] = {}
        for i, layer in enumerate(layers):
            parts: dict[str, Tensor] = {}
            if c.proposals == "gt":
                b, t = batch.span_mask.nonzero(as_tuple=True)
                pairs = (b, t, t)
            else:
                pairs, soft = self.matched(layer, targets, batch.span_mask)
                parts |= self.set_losses(layer, targets, batch.span_mask, pairs, n)
                if soft is not None:
                    parts["soft"] = soft
            if self.captioner is not None:
                parts["caption"] = self.caption_loss(layer, batch, memory, pairs)
            total = total + sum(weights[name] * value for name, value in parts.items())
            named |= {name if i == len(layers) - 1 else f"{name}_{i}": value for name, value in parts.items()}
        return {"loss": total, **named}

    def cost(self, logits: Tensor, boxes: Tensor, targets: Tensor) -> Tensor:
        """C[q, t] = 2·class + 4·(−GIoU) + 0·L1; class: focal cost of an event less that of none. [B, Q, K]"""
        c = self.config
        p = logits.sigmoid()
        event = c.focal_alpha * (1 - p) ** c.focal_gamma * -(p + 1e-8).log()
        other = (1 - c.focal_alpha) * p**c.focal_gamma * -(1 - p + 1e-8).log()
        C = c.cost_class * (event - other)[..., None] - c.cost_giou * giou(to_span(boxes), to_span(targets))
        if c.cost_l1:
            C = C + c.cost_l1 * torch.cdist(boxes, targets, p=1)
        return C

    def matched(
        self, layer: Layer, targets: Tensor, mask: Tensor
    ) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor | None]:
        """Pairs as (video, query, step), and the soft matcher's loss. Ordered matchers see both sides by centre.

        Where an ordered matching is empty (every cost is positive), step i takes the i-th query, as in the PSS code.
        """
        c = self.config
        m = mask.sum(1)  # [B]
        if c.matcher == "hungarian":
            with torch.no_grad():
                return self.match(self.cost(layer.logits, layer.boxes, targets), (None, m)).flat(), None
        late = targets[..., 0].masked_fill(~mask, math.inf)  # padding stays behind
        by_step = late.argsort(dim=1, stable=True)  # [B, K]
        by_query = layer.boxes[..., 0].argsort(dim=1, stable=True)  # [B, Q]
        boxes = layer.boxes.gather(1, by_query[..., None].expand(-1, -1, 2))
        if c.compat_independent_sort:
            boxes = layer.boxes.sort(1).values
        logits = layer.logits if c.soft_class else layer.logits.detach()
        C = self.cost(logits.gather(1, by_query), boxes, targets.gather(1, by_step[..., None].expand(-1, -1, 2)))
        found = self.match(C, (None, m))
        pairs = [
            (q, t) if len(q) else empty_start(min(int(k), c.queries), q) for (q, t), k in zip(found, m, strict=True)
        ]
        b = torch.cat([torch.full_like(q, i) for i, (q, _) in enumerate(pairs)])
        q, t = torch.cat([q for q, _ in pairs]), torch.cat([t for _, t in pairs])
        return (b, by_query[b, q], by_step[b, t]), None if found.loss is None else found.loss.mean()

    def set_losses(
        self, layer: Layer, targets: Tensor, mask: Tensor, pairs: tuple[Tensor, Tensor, Tensor], n: Tensor
    ) -> dict[str, Tensor]:
        """Class over all queries, box over the pairs, counter over videos.

        class    Σ_q focal(p_q, is q matched) / steps        focal = α_t (1 − p_t)^γ · BCE
        giou     Σ_pairs (1 − GIoU) / steps
        counter  mean_k w_k · BCE(count_k, [k = n]) · (1 if k = n else 1 − exp(−(k − n)²/8)),   w = 1 − rate
        """
        c = self.config
        b, q, t = pairs
        is_event = torch.zeros_like(layer.logits).index_put((b, q), layer.logits.new_ones(()))
        bce = F.binary_cross_entropy_with_logits(layer.logits, is_event, reduction="none")
        p = layer.logits.sigmoid()
        wrong = torch.where(is_event > 0, 1 - p, p)
        alpha = torch.where(is_event > 0, c.focal_alpha, 1 - c.focal_alpha)
        ours, theirs = layer.boxes[b, q], targets[b, t]  # [N, 2]
        overlap = giou(to_span(ours)[:, None], to_span(theirs)[:, None])[:, 0, 0]
        k = torch.arange(c.max_count + 1, device=mask.device)
        count = mask.sum(1).clamp(max=c.max_count)  # [B]
        is_count = (k == count[:, None]).to(layer.counts.dtype)
        near = torch.exp(-((k - count[:, None]) ** 2) / 8.0)
        miss = F.binary_cross_entropy_with_logits(layer.counts, is_count, reduction="none")
        weight = self.count_weight
        assert isinstance(weight, Tensor)
        losses = {
            "class": (alpha * wrong**c.focal_gamma * bce).sum() / n,
            "giou": (1 - overlap).sum() / n,
            "counter": (weight * miss * torch.where(is_count > 0, 1.0, 1 - near)).mean(),
        }
        if c.weight_l1:
            losses["l1"] = (ours - theirs).abs().sum() / n
        return losses

    def caption_loss(self, layer: Layer, batch: Batch, memory: Memory, pairs: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """Mean over pairs of the mean over tokens of −log p(token)."""
        assert self.captioner is not None
        b, q, t = pairs
        if not len(b):
            return layer.hidden.sum() * 0.0 + sum(p.sum() * 0.0 for p in self.captioner.parameters())
        slot = torch.cat(
            [torch.arange(int(m), device=b.device) for m in torch.bincount(b, minlength=len(batch.videos))]
        )
        B, M = len(batch.videos), int(slot.max()) + 1
        query = layer.hidden.new_zeros(B, M, layer.hidden.shape[-1]).index_put((b, slot), layer.hidden[b, q])
        reference = layer.reference.new_zeros(B, M, layer.reference.shape[-1]).index_put(
            (b, slot), layer.reference[b, q]
        )
        tokens = batch.tokens.new_zeros(B, M, batch.tokens.shape[-1]).index_put((b, slot), batch.tokens[b, t])
        counted = batch.token_mask[b, t][:, 1:]  # [N, W − 1]
        logp = self.captioner(query, scaled(reference, memory), tokens, memory)[b, slot]  # [N, W − 1, V + 1]
        nll = -logp.gather(-1, batch.tokens[b, t][:, 1:, None])[..., 0] * counted
        mean: Tensor = (nll.sum(1) / counted.sum(1)).mean()
        return mean

    # -- inference ----------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def predict(self, batch: Batch) -> list[Story]:
        """joint = σ(class) + ec_alpha · Σ log p(word) / (words^2 + 1e-5); the counter's n best, in order of start."""
        c = self.config
        memory = self.encode(batch)
        last = self.decode(batch, memory)[-1]
        joint, told = last.logits.sigmoid(), None
        if self.captioner is not None:
            told, score = self.captioner.greedy(last.hidden, scaled(last.reference, memory), memory, c.max_words)
            words = (told != 0).sum(-1)
            joint = joint + c.ec_alpha * score / (words**c.length_power + 1e-5)
        if c.proposals == "gt":
            kept = [m.nonzero()[:, 0] for m in batch.span_mask]
        else:
            counts = last.counts.argmax(-1).clamp(1, c.queries).tolist()
            kept = [j.topk(n).indices for j, n in zip(joint, counts, strict=True)]
        spans = to_span(last.boxes).clamp(0, 1) * batch.duration[:, None, None]
        stories = []
        for i, video in enumerate(batch.videos):
            events = []
            for k in kept[i].tolist():
                start, end = spans[i, k].tolist()
                caption = None if told is None or self.words is None else self.words.decode(told[i, k].tolist())
                events.append(Event(Segment(start, end), caption, float(joint[i, k])))
            stories.append(Story(video, tuple(events), float(batch.duration[i])).by_start())
        return stories


def scaled(reference: Tensor, memory: Memory) -> Tensor:
    """A reference on each level, padding left out. [B, Q, r] → [B, Q, L, r]"""
    return reference[:, :, None] * memory.ratios[:, None, :, None]


def empty_start(n: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """(0, 0), (1, 1), …: where costs are all positive, as they are at the start, nothing would ever be learnt."""
    i = torch.arange(n, device=like.device)
    return i, i


def steps_per_process(mask: Tensor) -> Tensor:
    """How many steps a process has on average, at least 1: what the losses are divided by."""
    n = mask.sum().to(torch.float32)
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.all_reduce(n)
        n = n / torch.distributed.get_world_size()
    return n.clamp(min=1)
