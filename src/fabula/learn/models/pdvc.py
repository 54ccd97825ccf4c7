"""Full definition of PDVC (Wang et al., ICCV 2021); matching of Batra et al., BMVC 2022.

End-to-end dense video captioning with parallel decoding: a fixed set of event queries reads a multi-scale encoding of
the video; each query says how likely it is an event, where it lies and in which words; a counter says how many to keep.

    features [B, T, C] → 4 levels (T, T/2, T/4, T/8) → deformable encoder → memory [B, S, D]
    100 queries → deformable decoder, boxes refined layer by layer → class, box, count, caption per layer
    training:   queries ↔ steps by a matcher; focal class + GIoU + counter + caption losses on every layer
    inference:  top-n queries by joint score, n from the counter, told in order of time

Decided where paper, published code and the PSS paper's partial code (github.com/ttengwang/PDVC,
github.com/anilbatra2185/pss_soda_matching) disagree or are silent:

- The matching cost is PDVC's class + GIoU, also in the PSS authors' code; the PSS paper's text has −IoU: `cost="iou"`.
- Ordered matchers sort queries by centre, whole rows. The published code sorts centres and lengths independently, so
  that lengths no longer belong to their centres in the cost; `compat_independent_sort` does the same.
- Steps that an ordered matcher leaves out: with "ordered" they have no loss, with "soft" each takes a random query;
  where all are left out, step i takes the i-th query by centre, with both. All as the PSS code; `missing` chooses.
- The soft matcher's pairs are those of the hard table of the same costs; the PSS code marks the least of the three in
  the soft table, which at γ .01 is the same but for ties.
- The soft matcher's loss has weight 1 per layer (the published code has no weight for it: its criterion is not public).
- The PSS code differentiates the soft loss through the whole matching cost, whose class term falls to −27 per step as
  p → 1 where GIoU can win 8: any sure query is rewarded, wherever it lies, and late in training the loss runs away
  while validation stands or falls. By default its gradient reaches the boxes alone; `soft_class=True` is theirs.
- matcher="marginal" is ours: what the soft loss lacks is the background of the queries it does not take. The free
  energy of the whole set loss over complete ordered matchings (`energy`) has it, replaces class and GIoU losses, and is
  bounded; γ → 0 is the loss of the complete ordered match. docs/reproduction.md says what it brings: no more.
- Every step of a video is a target (data.py); the published default drops all but 10.
- Sampling outside a level takes its border value, as PDVC's PyTorch path does. Its CUDA kernel takes 0, and published
  weights come from there: `outside="zero"`. The captioner's own attention reads the border on either path.
- The captioner's attention returns its 16 samples unweighted; the unused weight and output layers are not built. Its
  offsets begin around 0, the others' to one side of it by head, as published.
- At inference the published code adds the first reference to centre *and* length where training adds it to the
  centre alone; only models of one decoder layer would notice. Here both do what training does.
- `loss_self_iou` has no weight there and divides by zero for one pair: it is not computed.
- Durations beyond `duration_bins` seconds saturate (256 as published, though YouCook2's mean is 329 s).
- Under autocast the heads, boxes, costs and matching are float32, and so is the LSTM's cell.

Faster than it reads, with the same numbers: attention is a matrix product (`mix`), what of the captioner does not wait
for the word before is multiplied once for all words (`Reading`), captions of all videos and layers go in one row and
leave it when they end, and the costs of all layers are matched in one call.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from fabula.core.errors import SpecError
from fabula.data.stories import Event, Segment, Story
from fabula.documents.fields import JsonDict
from fabula.learn.data import Batch, Vocabulary
from fabula.learn.matchers import HungarianMatcher, MarginalMatcher, OrderedMatcher, SoftOrderedMatcher
from fabula.learn.models._layers import (
    FeedForward,
    SmallConfig,
    check_heads,
    logit,
    mean_over_processes,
    reset_matrices,
    sines,
    to_box,
    to_span,
)

# How many of ActivityNet's 10,009 training videos have k events, k = 0, 1, 2, …: weights of the counter loss. The
# published code has them as nine digits of these ratios; as ratios they are what it computes with.
ACTIVITYNET_COUNTS = tuple(
    n / 10_009 for n in (0, 0, 1936, 4125, 1891, 782, 510, 313, 185, 84, 66, 45, 22, 18, 6, 5, 5, 2, 3, 4, 3)
)


@dataclass(frozen=True)
class Config(SmallConfig):
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
    outside: Literal["border", "zero"] = "border"  # what lies beyond a level's ends; zero: PDVC's CUDA kernel, see top
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
    matcher: Literal["hungarian", "ordered", "soft", "marginal"] = "hungarian"
    gamma: float | None = None  # temperature of soft (None: .01, as the PSS code) and marginal (None: .02)
    smooth: Literal["expectation", "logsumexp"] = (
        "expectation"  # smoothMin: as the PSS code runs it, or soft-DTW's form
    )
    missing: Literal["auto", "no", "random", "cheapest", "complete"] = (
        "auto"  # queries for unmatched steps, see top; complete: the cheapest ordered matching that leaves none out
    )
    compat_independent_sort: bool = False  # sort centres and lengths independently (the PSS code's bug)
    cost: Literal["class+giou", "iou"] = "class+giou"  # of a pair in matching; iou: −IoU alone, as the PSS paper says
    cost_class: float = 2.0  # weights of the matching cost class+giou
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
    top: int | None = None  # events of a video: so many of the most confident; None: as many as the counter says
    proposals: Literal["learned", "gt"] = "learned"  # gt: queries are the true segments; only captions are learnt

    small: ClassVar = {
        "frames": 96,
        "hidden": 64,
        "heads": 4,
        "feedforward": 128,
        "levels": 3,
        "norm_groups": 8,
        "queries": 20,
        "word_dim": 32,
        "rnn": 64,
        "captioner": "light",
        "max_words": 16,
        "dropout": 0.0,
        "caption_dropout": 0.1,
    }  # of `tiny`, for a laptop


# ---------------------------------------------------------------------------------------------------------------------
# Spans


def giou(a: Tensor, b: Tensor, eps: float = 1e-5) -> Tensor:
    """Generalised IoU of all spans a, b: IoU − (hull − union)/hull. [..., N, 2], [..., M, 2] → [..., N, M]"""
    inter, union, hull = cover(a, b)
    return inter / (union + eps) - (hull - union) / (hull + eps)


def iou(a: Tensor, b: Tensor, eps: float = 1e-5) -> Tensor:
    """IoU of all spans a, b. [..., N, 2], [..., M, 2] → [..., N, M]"""
    inter, union, _ = cover(a, b)
    return inter / (union + eps)


def cover(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Lengths of intersection, union and hull of all spans a, b. [..., N, 2], [..., M, 2] → 3 × [..., N, M]"""
    a, b = a[..., :, None, :], b[..., None, :, :]
    inter = (torch.minimum(a[..., 1], b[..., 1]) - torch.maximum(a[..., 0], b[..., 0])).clamp(min=0)
    union = (a[..., 1] - a[..., 0]) + (b[..., 1] - b[..., 0]) - inter
    hull = (torch.maximum(a[..., 1], b[..., 1]) - torch.minimum(a[..., 0], b[..., 0])).clamp(min=0)
    return inter, union, hull


def precise(x: Tensor) -> Tensor:
    """float32 at least: half precision has steps of .004 near 1, more than a second of a video."""
    return x if x.dtype == torch.float64 else x.float()


# ---------------------------------------------------------------------------------------------------------------------
# Deformable attention in one dimension

LARGEST_MATRIX = 1 << 26  # entries; beyond, samples are summed one by one


@dataclass
class Memory:
    """The encoded video: all levels in a row, S = Σ T_l."""

    x: Tensor  # [B, S, D]
    padding: Tensor  # [B, S] True where there is no frame
    sizes: Tensor  # [L] T_l, as whole numbers
    starts: Tensor  # [L] where each level begins
    ratios: Tensor  # [B, L] the share of each level that is not padding


def hats(x: Tensor, memory: Memory, outside: str) -> tuple[Tensor, Tensor]:
    """The two frames beside each place and how much each counts. x [..., L, P] → 2 × [..., L·P·2]

    Frame i of level l has its centre at (i + ½)/T_l. Beyond the first and the last centre lies the border's value, or
    ("zero") frames of zeros.
    """
    T, start = memory.sizes[:, None], memory.starts[:, None]  # [L, 1]
    at = x * T - 0.5
    if outside == "border":
        at = torch.minimum(at.relu(), (T - 1).to(at.dtype))
    low = at.detach().floor()
    share = torch.stack([1 - (at - low), at - low], -1)
    frame = torch.stack([low, low + 1], -1).long()  # [..., L, P, 2]
    last = (T - 1)[..., None]
    if outside == "zero":
        share = share * ((frame >= 0) & (frame <= last))
    frame = torch.minimum(frame.clamp(min=0), last) + start[..., None]
    return frame.flatten(-3), share.flatten(-3)


def mix(value: Tensor, frame: Tensor, share: Tensor) -> Tensor:
    """Σ_n share_n · V[frame_n]: a sparse matrix times V. [B, S, H, d], 2 × [B, Q, H, N] → [B, Q, H, d]

    As a dense matrix if a gradient is needed: its product is faster forward and back than any gather.
    """
    (B, S, H, d), (Q, N) = value.shape, (frame.shape[1], frame.shape[3])
    share = share.to(value.dtype)
    learns = torch.is_grad_enabled() and (value.requires_grad or share.requires_grad)
    if (learns or value.device.type != "cpu") and B * Q * H * S <= LARGEST_MATRIX:
        return torch.einsum("bqhs,bshd->bqhd", share.new_zeros(B, Q, H, S).scatter_add(3, frame, share), value)
    item, head = torch.arange(B, device=value.device)[:, None, None, None], torch.arange(H, device=value.device)
    row = (item * S + frame) * H + head[:, None]
    return blend(value.reshape(-1, d), row.view(-1, N), share.view(-1, N)).view(B, Q, H, d)


def blend(table: Tensor, row: Tensor, share: Tensor) -> Tensor:
    """Σ_n share_n · table[row_n]. [S, d], 2 × [M, n] → [M, d]"""
    return F.embedding_bag(row, table, mode="sum", per_sample_weights=share.to(table.dtype))


def reach(reference: Tensor, memory: Memory, points: int) -> tuple[Tensor, Tensor]:
    """Where an offset Δ = 0 looks, and how far Δ = 1 is from there. [..., L, 1|2] → 2 × [..., L, 1]"""
    if reference.shape[-1] == 2:
        return reference[..., :1], reference[..., 1:] * (0.5 / points)
    return reference, (1 / memory.sizes.to(reference.dtype))[:, None].expand_as(reference)


class Deformable(nn.Module):
    """Each query reads P positions per head and level, near its reference (Zhu et al., ICLR 2021, in 1-D).

        x_hlp = ref_l + Δ_hlp / T_l            for a reference point
        x_hlp = c_l + Δ_hlp / P · len_l / 2    for a reference box (centre c, length len)
        out   = W_o Σ_lp A_hlp · V_hl(x_hlp)   A = softmax over level × point;  Δ, A linear in the query

    V is read at x by linear interpolation between frame centres (i + ½)/T; beyond the ends see `hats`.
    """

    def __init__(self, config: Config, heads: int, query_dim: int, weighted: bool = True) -> None:
        super().__init__()
        check_heads(config.hidden, heads)
        self.heads, self.levels, self.points = heads, config.levels, config.points
        self.outside = config.outside if weighted else "border"
        samples = heads * self.levels * self.points
        self.value = nn.Linear(config.hidden, config.hidden)
        self.offset = nn.Linear(query_dim, samples)
        self.weight = nn.Linear(query_dim, samples) if weighted else None
        self.out = nn.Linear(config.hidden, config.hidden) if weighted else None

    def reset(self) -> None:
        """Offsets begin as ±1, ±2, … frames by head, weights as uniform. Without weights (captioner): around 0."""
        angle = 2 * math.pi * torch.arange(self.heads) / self.heads
        way = angle.cos() / torch.maximum(angle.cos().abs(), angle.sin().abs())  # [H]
        bias = way[:, None, None] * torch.arange(1.0, self.points + 1).expand(self.levels, -1)  # [H, L, P]
        if self.weight is None:
            bias = bias - bias.mean(-1, keepdim=True)
        nn.init.zeros_(self.offset.weight)
        self.offset.bias.data.copy_(bias.flatten())
        for layer in (self.value, self.out):
            if layer is not None:
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)
        if self.weight is not None:
            nn.init.zeros_(self.weight.weight)
            nn.init.zeros_(self.weight.bias)

    def values(self, memory: Memory) -> Tensor:
        """V, nothing where the video is padded. [B, S, D]"""
        v: Tensor = self.value(memory.x)
        return v.masked_fill(memory.padding[..., None], 0.0)

    def forward(self, query: Tensor, reference: Tensor, memory: Memory) -> Tensor:
        """query [B, Q, D], reference [B, Q, L, 1|2] → [B, Q, D]"""
        B, Q, _ = query.shape
        H, L, P = self.heads, self.levels, self.points
        assert self.weight is not None and self.out is not None
        A = self.weight(query).view(B, Q, H, L * P).softmax(-1)
        centre, far = reach(reference, memory, P)
        x = centre[:, :, None] + self.offset(query).view(B, Q, H, L, P) * far[:, :, None]
        frame, share = hats(x, memory, self.outside)
        share = share * A.repeat_interleave(2, -1)
        y: Tensor = self.out(mix(self.values(memory).view(B, -1, H, query.shape[-1] // H), frame, share).flatten(2))
        return y


# ---------------------------------------------------------------------------------------------------------------------
# Encoder


class Pyramid(nn.Module):
    """Features at L scales with their positions: conv k=1, then conv k=3 stride 2; GroupNorm after each.

    Level 1 reads the raw features like level 0, levels 2, 3, … the level before. GroupNorm sees padded frames, as
    published: batches of equal length (frames=…) have none, and where lengths are kept videos are asked one by one.
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


class EncoderLayer(nn.Module):
    """x ← LN(x + deformable(x + pos));  x ← LN(x + FFN(x))"""

    def __init__(self, config: Config) -> None:
        super().__init__()
        D = config.hidden
        self.attention = Deformable(config, config.heads, D)
        self.norm, self.drop, self.ffn = (
            nn.LayerNorm(D),
            nn.Dropout(config.dropout),
            FeedForward(D, config.feedforward, config.dropout),
        )

    def forward(self, place: Tensor, reference: Tensor, memory: Memory) -> Tensor:
        """The encoding so far is memory.x. [B, S, D] → [B, S, D]"""
        x = memory.x
        x = self.norm(x + self.drop(self.attention(x + place, reference, memory)))
        y: Tensor = self.ffn(x)
        return y


# ---------------------------------------------------------------------------------------------------------------------
# Decoder


class DecoderLayer(nn.Module):
    """q ← LN(q + MHA(q + pos));  q ← LN(q + deformable(q + pos, memory));  q ← LN(q + FFN(q))"""

    def __init__(self, config: Config) -> None:
        super().__init__()
        D = config.hidden
        self.attention = nn.MultiheadAttention(D, config.heads, config.dropout, batch_first=True)
        self.cross = Deformable(config, config.heads, D)
        self.norm1, self.norm2, self.drop = nn.LayerNorm(D), nn.LayerNorm(D), nn.Dropout(config.dropout)
        self.ffn = FeedForward(D, config.feedforward, config.dropout)

    def forward(self, q: Tensor, place: Tensor, reference: Tensor, memory: Memory, unused: Tensor | None) -> Tensor:
        k = q + place
        q = self.norm1(q + self.drop(self.attention(k, k, q, key_padding_mask=unused, need_weights=False)[0]))
        q = self.norm2(q + self.drop(self.cross(q + place, reference, memory)))
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


Pairs = tuple[Tensor, Tensor, Tensor]  # video, query, step: 3 × [N]


@dataclass
class Layer:
    """The output of one decoder layer. `reference` is the reference of its queries before it moved them."""

    hidden: Tensor  # [B, Q, D]
    reference: Tensor  # [B, Q, 1] or [B, Q, 2]
    logits: Tensor  # [B, Q] event or not
    boxes: Tensor  # [B, Q, 2] (centre, length)
    counts: Tensor  # [B, max_count + 1] logits


# ---------------------------------------------------------------------------------------------------------------------
# Captioner


@dataclass
class Reading:
    """What N captions look up at every word, made once: W_c, W_ih and interpolation are linear and change places."""

    memory: Memory
    video: Tensor  # [N] which video each caption tells of
    gates: Tensor  # [N, 4R] the query's share of the LSTM's gates
    of_word: Tensor  # [4R, E] the weights of a word in them
    of_state: Tensor  # [4R (+ L·P + R), R] the weights of h in them, in the offsets, and W_h
    value: Tensor  # [B·S, 4R] what every frame brings into the gates: W_ih V
    key: Tensor  # [B·S, R] W_c V
    aim: Tensor  # [N, L·P] the query's share of the offsets
    centre: Tensor  # [N, L, 1] where an offset of 0 looks
    far: Tensor  # [N, L, 1] how far an offset of 1 is from there

    def keep(self, chosen: Tensor | slice) -> Reading:
        """Some of the captions."""
        mine = {n: getattr(self, n)[chosen] for n in ("video", "gates", "aim", "centre", "far")}
        return replace(self, **mine)


class Captioner(nn.Module):
    """A caption per event query: LSTM with deformable soft attention ("standard") or without ("light").

        clip = the L·P vectors that [h_{t−1}; query] samples near the event's reference
        a    = softmax(w · tanh(W_c clip + W_h h_{t−1})),   context = Σ a · clip
        h_t  = LSTM([word_t; context; query], h_{t−1}),     p(word_{t+1}) = softmax(W dropout(h_t))

    light: the LSTM's input is [word; query]. One captioner serves all decoder layers. Captions stand in one row, N of
    all videos and layers; what does not wait for h_{t−1} is multiplied once for all words.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        D, R, V = config.hidden, config.rnn, len(config.vocabulary)
        self.attends = config.captioner == "standard"
        self.words = nn.Embedding(V + 1, config.word_dim)
        self.lstm = nn.LSTM(config.word_dim + D + (D if self.attends else 0), R, bias=False, batch_first=True)
        self.drop, self.out = nn.Dropout(config.caption_dropout), nn.Linear(R, V + 1)
        if self.attends:
            self.clip = Deformable(config, 1, R + D, weighted=False)
            self.from_clip, self.from_state, self.energy = nn.Linear(D, R), nn.Linear(R, R), nn.Linear(R, 1)

    def reset(self) -> None:
        nn.init.uniform_(self.words.weight, -0.1, 0.1)
        nn.init.uniform_(self.out.weight, -0.1, 0.1)
        nn.init.zeros_(self.out.bias)

    def read(self, query: Tensor, video: Tensor, looks: tuple[Tensor, Tensor], memory: Memory) -> Reading:
        """query [N, D], video [N], looks = centre and reach of the event [N, L, 1]"""
        W, W_hh = self.lstm.weight_ih_l0, self.lstm.weight_hh_l0
        assert isinstance(W, Tensor) and isinstance(W_hh, Tensor)
        E, D = self.words.embedding_dim, query.shape[-1]
        gates, of_word = F.linear(query, W[:, -D:]), W[:, :E]
        if not self.attends:
            none = query.new_zeros(len(query), 0)
            return Reading(memory, video, gates, of_word, W_hh, none, none, none, *looks)
        offset, v = self.clip.offset, self.clip.values(memory).flatten(0, 1)
        of_state = torch.cat([W_hh, offset.weight[:, :-D], self.from_state.weight])
        aim = F.linear(query, offset.weight[:, -D:], offset.bias)
        return Reading(memory, video, gates, of_word, of_state, F.linear(v, W[:, E:-D]), self.from_clip(v), aim, *looks)

    def look(self, delta: Tensor, state: Tensor, r: Reading) -> Tensor:
        """Soft attention over what state and query sample, as it comes into the gates. [N, L·P], [N, R] → [N, 4R]"""
        N, R = state.shape
        L, P = self.clip.levels, self.clip.points
        x = r.centre + (delta + r.aim).view(N, L, P) * r.far  # [N, L, P]
        frame, share = hats(x, r.memory, self.clip.outside)  # [N, L·P·2]
        row = frame + r.video[:, None] * r.memory.x.shape[1]
        clip = blend(r.key, row.view(-1, 2), share.view(-1, 2)).view(N, L * P, R)
        a = self.energy(torch.tanh(clip + (state + self.from_state.bias)[:, None]))[..., 0].softmax(1)  # [N, L·P]
        return blend(r.value, row, share * a.repeat_interleave(2, 1))

    def step(self, inputs: Tensor, state: tuple[Tensor, Tensor], r: Reading) -> tuple[Tensor, Tensor]:
        """The LSTM one word further; `given` is what word and query bring into its gates. [N, 4R], 2 × [N, R]"""
        h, cell = state
        R = h.shape[1]
        of_h = F.linear(h, r.of_state)
        gates = inputs + of_h[:, : 4 * R]
        if self.attends:
            gates = gates + self.look(of_h[:, 4 * R : -R], of_h[:, -R:], r)
        i, f, g, o = precise(gates).chunk(4, 1)
        cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
        return o.sigmoid() * cell.tanh(), cell

    def forward(self, r: Reading, tokens: Tensor, lengths: Sequence[int]) -> Tensor:
        """Teacher forcing: log p(tokens[1:] | tokens[:-1]), 0 beyond a caption's length. [N, W] → [N, W − 1]"""
        N = len(lengths)
        by_length = sorted(range(N), key=lambda i: -lengths[i])  # so that those that go on stand first
        alive = [sum(k > t for k in lengths) for t in range(1, max(lengths))]
        spots = [(i, t) for t, n in enumerate(alive) for i in by_length[:n]]  # of every word that counts
        row, column = torch.tensor(spots, device=tokens.device).T
        inputs = F.linear(self.words(tokens[row, column]), r.of_word) + r.gates[row]  # [Σ alive, 4R]
        h = cell = precise(inputs.new_zeros(N, self.lstm.hidden_size))
        r, outputs = r.keep(row[:N]), []
        for n, word in zip(alive, torch.split(inputs, alive), strict=True):
            if n < len(h):
                h, cell, r = h[:n], cell[:n], r.keep(slice(n))
            h, cell = self.step(word, (h, cell), r)
            outputs.append(h)
        nll = F.cross_entropy(self.out(self.drop(torch.cat(outputs))), tokens[row, column + 1], reduction="none")
        return nll.new_zeros(N, tokens.shape[1] - 1).index_put((row, column), -nll)

    def greedy(self, r: Reading, max_words: int) -> tuple[Tensor, Tensor]:
        """The likeliest word each time, up to the first 0: tokens [N, ≤ max_words], Σ log p of the words [N]."""
        N = len(r.video)
        word, going = r.video.new_zeros(N), torch.arange(N, device=r.video.device)
        tokens, score = word.new_zeros(N, 0), precise(r.gates.new_zeros(N))
        h = cell = score.new_zeros(N, self.lstm.hidden_size)
        codes = r.gates.new_empty(self.words.num_embeddings, r.gates.shape[1])  # what a word brings into the gates
        known = torch.zeros(len(codes), dtype=torch.bool, device=word.device)
        while tokens.shape[1] < max_words and len(going):
            new = torch.unique(word[~known[word]])
            codes[new], known[new] = F.linear(self.words(new), r.of_word).to(codes.dtype), True
            h, cell = self.step(codes[word] + r.gates, (h, cell), r)
            logits = precise(self.out(self.drop(h)))
            best, word = logits.max(-1)
            tokens = F.pad(tokens, (0, 1))
            tokens[going, -1] = word
            on = word.nonzero()[:, 0]  # finished captions cost nothing further
            score[going[on]] += (best - logits.logsumexp(-1))[on]
            if len(on) < len(going):
                word, h, cell, going, r = word[on], h[on], cell[on], going[on], r.keep(on)
        return tokens, score


# ---------------------------------------------------------------------------------------------------------------------
# The model


def make_matcher(c: Config) -> HungarianMatcher | OrderedMatcher:
    """The matcher of the settings. An empty ordered matching begins on the diagonal, as in the PSS code."""
    missing = {"auto": "random" if c.matcher == "soft" else "no", "complete": "no"}.get(c.missing, c.missing)
    rest: JsonDict = {"complete": c.missing == "complete", "empty": "no" if missing == "cheapest" else "diagonal"}
    if c.matcher == "hungarian":
        return HungarianMatcher()
    if c.matcher == "ordered":
        return OrderedMatcher(missing, **rest)  # type: ignore[arg-type]
    if c.matcher == "soft":
        gamma = 0.01 if c.gamma is None else c.gamma
        return SoftOrderedMatcher(gamma, c.smooth, missing, **rest)  # type: ignore[arg-type]
    if c.matcher == "marginal":
        return MarginalMatcher(0.02 if c.gamma is None else c.gamma)
    raise SpecError(f"no matcher is called {c.matcher!r}; there are: hungarian, ordered, soft, marginal")


class Model(nn.Module):
    name: ClassVar[str] = "pdvc"
    config_class: ClassVar[type[Config]] = Config
    inference: ClassVar[tuple[str, ...]] = ("ec_alpha", "length_power", "max_words", "top")
    recipe: ClassVar[dict[str, object]] = {
        "epochs": 30, "batch_size": 1, "lr": 5e-5, "weight_decay": 1e-4, "betas": (0.9, 0.999),
        "decay": 0.5, "decay_from": 8, "decay_every": 3, "clip_norm": 100.0,
    }  # fmt: skip

    def __init__(self, config: Config) -> None:
        super().__init__()
        c = self.config = config
        if config.captioner != "none" and not config.vocabulary:
            raise SpecError("a captioner needs a vocabulary; build one, or use captioner='none'")
        if config.proposals == "gt" and config.captioner == "none":
            raise SpecError("proposals='gt' trains captions alone, and captioner='none' has none")
        if config.matcher == "marginal" and config.cost != "class+giou":
            raise SpecError(f"cost={config.cost} has no effect with matcher=marginal, which has costs of its own")
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
        self.match = make_matcher(c)
        self.reset()

    def reset(self) -> None:
        """Xavier everywhere, then what the paper's code sets by hand."""
        reset_matrices(self.encoder, self.decoder)
        for m in self.modules():
            if isinstance(m, Deformable | Pyramid | Captioner):
                m.reset()
        if self.config.proposals == "gt":
            nn.init.xavier_uniform_(self.from_box.weight)
        else:
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
        lengths = torch.tensor([x.shape[1] for x in levels], device=batch.features.device)
        x, place, padding = torch.cat(levels, 1), torch.cat(places, 1), ~torch.cat(masks, 1)
        ratios = torch.stack([m.float().mean(1) for m in masks], 1)  # [B, L]
        own = []  # each frame's own place, as a fraction of what is not padding
        for i, level in enumerate(levels):
            T = level.shape[1]
            centres = (torch.arange(T, device=x.device) + 0.5) / T
            own.append(centres / ratios[:, i : i + 1].clamp(min=1e-6))  # [B, T_l]
        reference = torch.cat(own, 1)[:, :, None, None] * ratios[:, None, :, None]  # [B, S, L, 1]
        memory = Memory(x, padding, lengths, lengths.cumsum(0) - lengths, ratios)
        for layer in self.encoder:
            memory = replace(memory, x=layer(place, reference, memory))
        return memory

    def decode(self, batch: Batch, memory: Memory) -> list[Layer]:
        """The output of each layer. Heads and references are float32, also under autocast."""
        B, D = len(batch.features), self.config.hidden
        kind = memory.x.device.type
        unused: Tensor | None = None
        with torch.autocast(kind, enabled=False):
            if self.config.proposals == "learned":
                place, q = torch.chunk(self.queries.weight[None].expand(B, -1, -1), 2, -1)
                reference = self.reference(place).sigmoid()  # [B, Q, 1]
            else:
                reference, unused = to_box(batch.spans), ~batch.span_mask  # [B, K, 2]
                code = torch.cat([sines(reference[..., k], D // 2) for k in (0, 1)], -1)
                place, q = torch.chunk(self.from_box_norm(self.from_box(code)), 2, -1)
        layers = []
        for i, layer in enumerate(self.decoder):
            looked = reference[:, :, None] * memory.ratios[:, None, :, None]  # [B, Q, L, 1|2]
            q = layer(q, place, looked, memory, unused)
            if self.config.proposals == "gt":
                none = q.new_zeros(q.shape[:2])
                layers.append(Layer(q, reference, none, reference, q.new_zeros(B, 1)))
                continue
            with torch.autocast(kind, enabled=False):
                x = precise(q)
                moved = self.box_heads[i](x)  # box ← σ(moved + σ⁻¹(reference)); a point moves the centre alone
                here = logit(reference) if reference.shape[-1] == 2 else F.pad(logit(reference), (0, 1))
                boxes = (moved + here).sigmoid()
                counts = self.count_heads[i](x.max(1).values)
                layers.append(Layer(q, reference, self.class_heads[i](x)[..., 0], boxes, counts))
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
                   "caption": c.weight_caption, "soft": c.weight_soft, "marginal": 1.0}  # fmt: skip
        parts: list[dict[str, Tensor]] = [{} for _ in layers]
        if c.proposals == "gt":
            b, t = batch.span_mask.nonzero(as_tuple=True)
            pairs = [(b, t, t)] * len(layers)
        else:
            pairs, soft = self.match_layers(layers, targets, batch.span_mask)
            for i, layer in enumerate(layers):
                parts[i] |= self.set_losses(layer, targets, batch.span_mask, pairs[i], n)
                if c.matcher == "marginal":
                    parts[i] = {"counter": parts[i]["counter"], "marginal": soft[i].sum() / n}
                elif c.matcher == "soft":
                    parts[i]["soft"] = soft[i].mean()
        if self.captioner is not None:
            for part, losses in zip(parts, self.caption_losses(layers, batch, memory, pairs), strict=True):
                part["caption"] = losses
        total = batch.features.new_zeros(())
        named: dict[str, Tensor] = {}
        for i, part in enumerate(parts):
            total = total + sum(weights[name] * value for name, value in part.items())
            named |= {name if i == len(layers) - 1 else f"{name}_{i}": value for name, value in part.items()}
        return {"loss": total, **named}

    def cost(self, logits: Tensor, boxes: Tensor, targets: Tensor) -> Tensor:
        """C[q, t] = 2·class + 4·(−GIoU) + 0·L1; class: focal cost of an event less that of none. [B, Q, K]

        With cost="iou": C[q, t] = −IoU.
        """
        c = self.config
        if c.cost == "iou":
            return -iou(to_span(boxes), to_span(targets))
        p = logits.sigmoid()
        event = c.focal_alpha * (1 - p) ** c.focal_gamma * -(p + 1e-8).log()
        other = (1 - c.focal_alpha) * p**c.focal_gamma * -(1 - p + 1e-8).log()
        C = c.cost_class * (event - other)[..., None] - c.cost_giou * giou(to_span(boxes), to_span(targets))
        if c.cost_l1:
            C = C + c.cost_l1 * torch.cdist(boxes, targets, p=1)
        return C

    def match_layers(self, layers: Sequence[Layer], targets: Tensor, mask: Tensor) -> tuple[list[Pairs], Tensor]:
        """Pairs (video, query, step) of each layer, and the value of a soft matcher for each layer and video [A, B].

        All layers are matched in one call: the costs leave the device once. Ordered matchers see both sides by centre.
        """
        c = self.config
        A, B = len(layers), len(mask)
        logits, boxes = (torch.cat([getattr(x, name) for x in layers]) for name in ("logits", "boxes"))  # [A·B, Q, …]
        targets, mask = targets.repeat(A, 1, 1), mask.repeat(A, 1)
        m = mask.sum(1)
        soft = logits.new_zeros(A, B)
        if c.matcher == "hungarian":
            with torch.no_grad():
                b, q, t = (matched := self.match(self.cost(logits, boxes, targets), (None, m))).flat()
        else:
            by_step = targets[..., 0].masked_fill(~mask, math.inf).argsort(dim=1, stable=True)  # padding stays behind
            by_query = boxes[..., 0].argsort(dim=1, stable=True)  # [A·B, Q]
            boxes = boxes.sort(1).values if c.compat_independent_sort else take_rows(boxes, by_query)
            targets = take_rows(targets, by_step)
            logits = logits.gather(1, by_query)
            if c.matcher == "marginal":
                matched = self.match(self.energy(logits, boxes, targets), (None, m))
                assert matched.value is not None
                soft = (matched.value + self.focal(logits)[1].sum(1)).view(A, B)
            else:
                matched = self.match(self.cost(logits if c.soft_class else logits.detach(), boxes, targets), (None, m))
                soft = soft if matched.loss is None else matched.loss.view(A, B)
            b, q, t = matched.flat()
            q, t = by_query[b, q], by_step[b, t]
        sizes = [sum(len(matched[i][0]) for i in range(a * B, (a + 1) * B)) for a in range(A)]
        return list(zip(*(torch.split(x, sizes) for x in (b % B, q, t)), strict=True)), soft

    def focal(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """What a query costs as an event and as none, weighted: the class loss is their sum. [B, Q] → 2 × [B, Q]"""
        c = self.config
        p = logits.sigmoid()
        event = c.focal_alpha * (1 - p) ** c.focal_gamma * -F.logsigmoid(logits)
        other = (1 - c.focal_alpha) * p**c.focal_gamma * -F.logsigmoid(-logits)
        return c.weight_class * event, c.weight_class * other

    def energy(self, logits: Tensor, boxes: Tensor, targets: Tensor) -> Tensor:
        """What a pair adds to the set loss where its query is no background any more. [B, Q, K]

        L(π) = Σ_q bg(q) + Σ_{(q, t) ∈ π} [ev(q) − bg(q) + 4 (1 − GIoU_qt)]: this is the bracket.
        """
        c = self.config
        event, other = self.focal(logits)
        E = (event - other)[..., None] + c.weight_giou * (1 - giou(to_span(boxes), to_span(targets)))
        if c.weight_l1:
            E = E + c.weight_l1 * torch.cdist(boxes, targets, p=1)
        return E

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

    def caption_losses(
        self, layers: Sequence[Layer], batch: Batch, memory: Memory, pairs: Sequence[Pairs]
    ) -> list[Tensor]:
        """Of each layer the mean over its pairs of the mean over tokens of −log p(token). All layers in one run."""
        assert self.captioner is not None
        sizes = [len(b) for b, _, _ in pairs]
        if not sum(sizes):
            nothing = sum(p.sum() * 0.0 for p in self.captioner.parameters())
            return [layer.hidden.sum() * 0.0 + nothing for layer in layers]
        video, step = torch.cat([b for b, _, _ in pairs]), torch.cat([t for _, _, t in pairs])
        query = torch.cat([layer.hidden[b, q] for layer, (b, q, _) in zip(layers, pairs, strict=True)])
        looks = [self.looks(layer.reference[b, q], b, memory) for layer, (b, q, _) in zip(layers, pairs, strict=True)]
        centre, far = (torch.cat(x) for x in zip(*looks, strict=True))
        length = batch.token_mask[video, step].sum(1)
        reading = self.captioner.read(query, video, (centre, far), memory)
        logp = self.captioner(reading, batch.tokens[video, step], length.tolist())  # [N, W − 1]
        each = -logp.sum(1) / (length - 1)
        return [part.sum() / max(len(part), 1) for part in torch.split(each, sizes)]

    def looks(self, reference: Tensor, video: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Where captions look on each level, padding left out, and how far offsets reach. [N, r] → 2 × [N, L, 1]"""
        placed = reference[:, None] * memory.ratios[video][..., None]  # [N, L, r]
        return reach(placed, memory, self.config.points)

    # -- inference ----------------------------------------------------------------------------------------------------

    def write_captions(self, layer: Layer, memory: Memory) -> tuple[Tensor, Tensor]:
        """A caption of every query by the likeliest words, and its log-probability: [B, Q, ≤ max_words], [B, Q]"""
        assert self.captioner is not None
        B, Q, _ = layer.hidden.shape
        video = torch.arange(B, device=memory.x.device).repeat_interleave(Q)
        looks = self.looks(layer.reference.flatten(0, 1), video, memory)
        reading = self.captioner.read(layer.hidden.flatten(0, 1), video, looks, memory)
        tokens, score = self.captioner.greedy(reading, self.config.max_words)
        return tokens.view(B, Q, -1), score.view(B, Q)

    @torch.no_grad()
    def predict(self, batch: Batch) -> list[Story]:
        """joint = σ(class) + ec_alpha · Σ log p(word) / (words^2 + 1e-5); the counter's n best, in order of start.

        `top` is n in place of the counter's.
        """
        c = self.config
        memory = self.encode(batch)
        last = self.decode(batch, memory)[-1]
        joint, tokens = last.logits.sigmoid(), None
        if self.captioner is not None:
            tokens, score = self.write_captions(last, memory)
            words = (tokens != 0).sum(-1)
            joint = joint + c.ec_alpha * score / (words**c.length_power + 1e-5)
        if c.proposals == "gt":
            chosen = [m.nonzero()[:, 0] for m in batch.span_mask]
        else:
            counted = last.counts.argmax(-1).tolist()
            counts = [min(max(1, n if c.top is None else c.top), c.queries) for n in counted]
            chosen = [j.topk(n).indices for j, n in zip(joint, counts, strict=True)]
        spans = to_span(last.boxes).clamp(0, 1) * batch.duration[:, None, None]
        stories = []
        for i, video in enumerate(batch.videos):
            events = []
            for k in chosen[i].tolist():
                start, end = spans[i, k].tolist()
                caption = None if tokens is None or self.words is None else self.words.decode(tokens[i, k].tolist())
                events.append(Event(Segment(start, end), caption, float(joint[i, k])))
            stories.append(Story(video, tuple(events), float(batch.duration[i])).by_start())
        return stories


def take_rows(x: Tensor, order: Tensor) -> Tensor:
    """The rows of each item in this order. [B, Q, 2], [B, Q] → [B, Q, 2]"""
    return x.gather(1, order[..., None].expand(-1, -1, x.shape[-1]))


def steps_per_process(mask: Tensor) -> Tensor:
    """How many steps a process has on average, at least 1: what the losses are divided by."""
    return mean_over_processes(mask.sum().to(torch.float32)).clamp(min=1)
