"""Full definition of MICap (Raajesh et al., CVPR 2024).

Identity-aware captions of a videoset, N consecutive clips of a film: people are P1, P2, … and keep their numbers from
clip to clip. One set of weights does two tasks, which differ in what the encoder sees and which positions are judged:

    streams:    text (blanks) · action (I3D, S segments a clip) · faces (≤ F a set) · frames (CLIP, ≤ T a clip)
    tokens      W x + type + clip (+ segment) (+ face cluster + box)              → encoder, 2 layers → memory [B, S, D]
    decoder     word + position + clip, causal, 3 layers, reads the memory        → logits over words and people
    fitb        memory with text; true words are given, people are filled in      loss where the next token is a person
    caption     memory without text; every word is said                           loss at every token

    captionset  START caption 1 [SEP] caption 2 [SEP] … caption N [SEP] END, at most 120 tokens
    vocabulary  WordPiece, then 3 specials, P1 … P11, START, END; the third special stands for a blank not yet filled

Joint training (`passes`) is two losses and two optimiser steps a batch, the second on weights that the first has moved.

Decided where the paper and its code (github.com/katha-ai/MovieIdentityCaptioner-CVPR2024) differ, or slip:

- FITB is a softmax and an arg-max over people, as eq. 10 and 11; the joint code takes the whole vocabulary for both, so
  that a blank may be filled with a word (`fitb_over="vocabulary"`).
- An id in the very last slot is an id. The code masks that slot: no FITB loss there, a word in the caption loss
  (`compat_last_slot`).
- One classifier W^V* serves both tasks, which "works best"; the losing arm has a W^P of its own for blanks
  (`classifier="separate"`).
- Appendix C would weigh the two losses (`fitb_weight`, `caption_weight`); both are 1. Adam divides a weight out where
  each loss has a step of its own, so weigh with `--pass-steps together`.
- Caption loss: the mean over people plus the mean over other tokens, as the code; eq. 15 is one sum
  (`caption_loss="mean"`).
- FITB-only code moves ids, START and END to the rows 0 … 13 of the word table, which are BERT's [unused]; here they
  have rows of their own (`compat_low_rows`).
- A captionset is closed after as many [SEP] as the set has clips; the code always waits for five (`compat_all_seps`).
- The code's target padding mask is not built: padding stands at the end, and the causal mask keeps it out of sight.
- The clip table has N + 1 rows and is shared by encoder and decoder, whose row is the number of [SEP] said so far.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from fabula.core.errors import SpecError
from fabula.documents.fields import JsonDict
from fabula.learn.identity.videosets import Batch
from fabula.learn.models._layers import KV, DecoderLayer, EncoderLayer, SmallConfig, check_heads, entropy

STREAMS = ("text", "action", "face", "frame")  # the order of the memory; the row of the type table
SPECIALS = 3  # between words and people; the last stands for a blank


@dataclass(frozen=True)
class Config(SmallConfig):
    """MICap for LSMDC as published; `Config.tiny()` runs on a laptop."""

    task: Literal["joint", "fitb", "caption"] = "joint"  # one model for both tasks, or for one
    streams: str = "text,action,face,frame"  # what is seen; "text" alone is the text-only row of Table 2
    encoder: bool = True  # False: projected tokens are the memory ("only-dec")
    # raw features
    text_dim: int = 1536  # [CLS; blank] of BERT
    action_dim: int = 1024  # I3D
    face_dim: int = 512  # ArcFace
    frame_dim: int = 512  # CLIP
    # a videoset
    clips: int = 5  # N
    segments: int = 5  # S, of a clip
    frames: int = 50  # T, frame features of a clip; the rest is cut
    faces: int = 300  # F, of a set; the rest is cut
    blanks: int = 17  # of a set
    clusters: int = 400  # rows of the cluster table (the FITB-only code has 300)
    face_clusters: Literal["set", "clip", "none"] = "set"  # one person over all clips; within each clip alone; not said
    pool_faces: bool = False  # a person's faces of a clip are one, their mean (with "clip": FillIn's face clusters)
    face_eps: float = 0.75  # where the data do not say who is who: faces within this cosine distance are one person's
    box_width: float = 854.0  # of the video the boxes were found in
    box_height: float = 480.0
    # tokens
    words: int = 30522  # WordPiece's, before specials and people
    people: int = 11
    sep: int = 102  # the token that ends a caption
    tokens: int = 120  # of a captionset, START and END included
    vocabulary: tuple[str, ...] = ()  # the words, for who writes and reads captions; () for bare numbers
    # transformer
    hidden: int = 512  # D
    heads: int = 8
    encoder_layers: int = 2
    decoder_layers: int = 3
    feedforward: int = 2048
    dropout: float = 0.1
    # losses
    fitb_over: Literal["people", "vocabulary"] = "people"  # whom a blank is chosen among: see top
    classifier: Literal["shared", "separate"] = "shared"  # joint: of blanks and of words, or one for blanks alone
    caption_loss: Literal["split_mean", "mean"] = "split_mean"  # mean of people + mean of words, or one mean
    fitb_weight: float = 1.0  # of the loss of blanks: see top
    caption_weight: float = 1.0  # of the loss of captions
    compat_last_slot: bool = False  # an id in the last slot is no id
    compat_low_rows: bool = False  # FITB-only: ids, START and END in rows 0 … 13 of the word table
    # decoding
    beam: int = 1  # 1: greedy
    length_power: float = 1.0  # beams are ranked by log-probability ÷ tokens ** this
    compat_all_seps: bool = False  # END after `clips` [SEP] even in a set with fewer clips

    def __post_init__(self) -> None:
        names = self.stream_names
        unknown = [name for name in names if name not in STREAMS]
        if unknown or not names:
            raise SpecError(f"streams is {self.streams!r}; use some of {', '.join(STREAMS)}, with commas")
        if self.task != "fitb" and not set(names) - {"text"}:
            raise SpecError("captioning needs a visual stream, and streams is only text; use task=fitb")
        if self.classifier == "separate" and (self.task != "joint" or self.fitb_over != "people"):
            raise SpecError("classifier=separate is for task=joint, and for blanks filled with people (fitb_over)")
        if self.vocabulary and len(self.vocabulary) != self.words:
            raise SpecError(f"words is {self.words}, the vocabulary has {len(self.vocabulary)}")
        check_heads(self.hidden, self.heads)

    small: ClassVar = {
        "hidden": 64,
        "heads": 4,
        "feedforward": 128,
        "encoder_layers": 1,
        "decoder_layers": 2,
        "frames": 8,
        "faces": 40,
        "clusters": 41,
        "dropout": 0.0,
    }  # of `tiny`, for a laptop

    @property
    def stream_names(self) -> tuple[str, ...]:
        """The streams by name, in the order of the memory."""
        names = [name.strip() for name in self.streams.split(",") if name.strip()]
        return tuple(sorted(set(names), key=lambda name: STREAMS.index(name) if name in STREAMS else -1))

    @property
    def blank(self) -> int:
        """A person who is not known; person k is k tokens further on."""
        return self.words + SPECIALS - 1

    @property
    def start(self) -> int:
        return self.blank + self.people + 1

    @property
    def end(self) -> int:
        return self.start + 1

    @property
    def size(self) -> int:
        """|V*|: rows of the word table."""
        return self.end + 1


@dataclass
class Memory:
    """What the decoder reads."""

    x: Tensor  # [B, S, D]
    real: Tensor  # [B, S] False where there is nothing
    streams: dict[str, slice]  # where each stream lies
    raw: Tensor  # [B, S, D] before the encoder

    @property
    def allowed(self) -> Tensor:
        """The attention mask; all True where nothing is real, so that no softmax is empty. [B, 1, 1, S]"""
        return (self.real | ~self.real.any(-1, keepdim=True))[:, None, None]


@dataclass(frozen=True)
class Answer:
    """The model's answer for a videoset, as tokens; None for a task that was not run."""

    name: str
    filled: tuple[int, ...] | None = None  # a token per blank
    caption_tokens: tuple[int, ...] | None = None  # a captionset, START and END included


class Model(nn.Module):
    name: ClassVar[str] = "micap"
    config_class: ClassVar[type[Config]] = Config
    inference: ClassVar[tuple[str, ...]] = (
        "beam", "length_power", "compat_all_seps", "face_eps", "box_width", "box_height",
    )  # fmt: skip
    leaves_unused = True  # a pass leaves text, or rows of tables, without a gradient
    recipe: ClassVar[dict[str, object]] = {
        "epochs": 30, "batch_size": 16, "lr": 5e-5, "weight_decay": 0.0, "betas": (0.9, 0.999), "schedule": "constant",
        "clip_norm": None, "clip_value": 0.1, "seed": 0,
    }  # fmt: skip

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.passes: tuple[str, ...] = ("fitb", "caption") if config.task == "joint" else (config.task,)
        self.build_streams(config)
        self.build_words(config)

    def build_streams(self, config: Config) -> None:
        """What makes tokens of the clips."""
        D = config.hidden
        dims = {
            "text": config.text_dim,
            "action": config.action_dim,
            "face": config.face_dim,
            "frame": config.frame_dim,
        }
        streams = [s for s in config.stream_names if config.task != "caption" or s != "text"]
        self.inputs = nn.ModuleDict({stream: nn.Linear(dims[stream], D) for stream in streams})
        self.kind = nn.Embedding(len(STREAMS) - (config.task == "caption"), D)
        self.clip = nn.Embedding(config.clips + 1, D)
        if set(streams) - {"text"}:
            self.segment = nn.Embedding(config.segments, D)
        if "face" in streams:
            self.cluster, self.box = nn.Embedding(config.clusters, D), nn.Linear(4, D)

    def build_words(self, config: Config) -> None:
        """What reads those tokens and chooses words."""
        D = config.hidden
        if config.encoder:
            self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.word, self.position = nn.Embedding(config.size, D), nn.Embedding(config.tokens, D)
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.head = nn.Linear(D, config.people + 1 if config.task == "fitb" else config.size)
        if config.classifier == "separate":
            self.person_head = nn.Linear(D, config.people)

    # --- encoder -----------------------------------------------------------------------------------------------------

    def tokens_of(self, batch: Batch, stream: str) -> tuple[Tensor, Tensor]:
        """One stream, projected, with type embeddings (eq. 2–5): [B, n, D] and which of it is real [B, n]."""
        raw, real, clip, segment = batch.stream(stream)
        row = STREAMS.index(stream) - (self.config.task == "caption")
        x = self.inputs[stream](raw) + self.kind.weight[row] + self.clip(clip)
        if stream != "text":
            x = x + self.segment(segment)
        if stream == "face":
            x = x + self.cluster(batch.face_cluster) + self.box(batch.face_box)
        return x, real

    def see(self, batch: Batch, part: str) -> Memory:
        """The tokens of one pass before the encoder: with text for "fitb", without for "caption"."""
        streams, xs, reals, S = {}, [], [], 0
        for stream in self.inputs:
            if stream == "text" and part == "caption":
                continue
            x, real = self.tokens_of(batch, stream)
            streams[stream], S = slice(S, S + x.shape[1]), S + x.shape[1]
            xs.append(x)
            reals.append(real)
        raw, real = torch.cat(xs, 1), torch.cat(reals, 1)
        return Memory(raw, real, streams, raw)

    def encode(self, batch: Batch, part: str) -> Memory:
        """The memory of one pass (eq. 6)."""
        memory = self.see(batch, part)
        for layer in self.encoder if self.config.encoder else ():
            memory.x = layer(memory.x, memory.allowed)
        return memory

    # --- decoder -----------------------------------------------------------------------------------------------------

    def embed(self, tokens: Tensor, clip: Tensor, at: int = 0) -> Tensor:
        """word + position + clip, from position `at` on. [B, T] → [B, T, D]"""
        if self.config.compat_low_rows and self.config.task == "fitb":
            tokens = torch.where(tokens >= self.config.blank, tokens - self.config.blank, tokens)
        place = torch.arange(at, at + tokens.shape[1], device=tokens.device)
        x: Tensor = self.word(tokens) + self.position(place) + self.clip(clip)
        return x

    def decode(self, tokens: Tensor, clip: Tensor, memory: Memory, A: list[Tensor] | None = None) -> Tensor:
        """h_j after reading w_1 … w_j and the memory (eq. 7). A, if given, gets the last layer's cross-attention."""
        T = tokens.shape[1]
        causal = torch.ones(T, T, dtype=torch.bool, device=tokens.device).tril()
        x = self.embed(tokens, clip)
        for i, layer in enumerate(self.decoder):
            last = A if i == len(self.decoder) - 1 else None
            x = layer(x, layer.own.keys(x), layer.cross.keys(memory.x), (causal, memory.allowed), last)  # type: ignore[operator, union-attr]
        return x

    def is_person(self, tokens: Tensor) -> Tensor:
        """A person, or a blank for one."""
        return (tokens >= self.config.blank) & (tokens <= self.config.blank + self.config.people)

    def logits(self, h: Tensor) -> Tensor:
        """Over the classes of the head. [n, D] → [n, V]"""
        logits: Tensor = self.head(h)
        return logits

    def tape(self, memory: Memory) -> Tape:
        return Tape(self, memory)

    def person_logits(self, h: Tensor) -> Tensor:
        """Over people P1 … (eq. 10), or over all classes the head has. [n, D] → [n, P | V]"""
        logits: Tensor = self.person_head(h) if self.config.classifier == "separate" else self.logits(h)
        if self.config.fitb_over == "vocabulary" or self.config.classifier == "separate":
            return logits
        first = 1 if self.config.task == "fitb" else self.config.blank + 1
        return logits[..., first : first + self.config.people]

    def person_classes(self, tokens: Tensor) -> Tensor:
        """Person tokens as classes of `person_logits`."""
        if self.config.fitb_over == "people":
            return tokens - self.config.blank - 1
        return tokens - self.config.blank if self.config.task == "fitb" else tokens

    def person_tokens(self, classes: Tensor) -> Tensor:
        """Back again; over the whole vocabulary this may be no person."""
        if self.config.fitb_over == "people":
            return classes + self.config.blank + 1
        return classes + self.config.blank if self.config.task == "fitb" else classes

    # --- losses ------------------------------------------------------------------------------------------------------

    def loss(self, batch: Batch, part: str = "") -> dict[str, Tensor]:
        """One pass: cross-entropy of people ("fitb", eq. 11) or of all tokens ("caption", eq. 15)."""
        part = part or self.passes[0]
        memory = self.encode(batch, part)
        h = self.decode(batch.tokens, batch.token_clip, memory)[:, :-1]  # position t − 1 tells token t
        after, real = batch.tokens[:, 1:], batch.token_mask[:, 1:]
        person = self.is_person(after) & real & (after != self.config.blank)  # a blank has no truth to learn from
        if self.config.compat_last_slot and batch.tokens.shape[1] == self.config.tokens:
            person[:, -1] = False
        if part == "fitb":
            loss = entropy(self.person_logits(h[person]), self.person_classes(after[person]))
            return {"loss": self.config.fitb_weight * loss, "fitb": loss.detach()}
        word = real & ~person & (after != self.config.blank)
        if self.config.caption_loss == "mean":
            every = person | word
            loss = entropy(self.logits(h[every]), after[every])
            return {"loss": self.config.caption_weight * loss, "caption": loss.detach()}
        people = entropy(self.logits(h[person]), after[person])
        words = entropy(self.logits(h[word]), after[word])
        return {
            "loss": self.config.caption_weight * (people + words),
            "people": people.detach(),
            "words": words.detach(),
        }

    # --- answers -----------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def predict(self, batch: Batch) -> list[Answer]:
        """Fill blanks, write captions, or both: what the model is trained for."""
        filled = self.fill(batch) if "fitb" in self.passes else [None] * len(batch.names)
        rows = self.generate(batch) if "caption" in self.passes else [None] * len(batch.names)
        return [Answer(*one) for one in zip(batch.names, filled, rows, strict=True)]

    @torch.no_grad()
    def fill(self, batch: Batch, known: Tensor | None = None) -> list[tuple[int, ...]]:
        """Fill the blanks of every set from left to right: words are input, and so is each chosen person.

        The k-th blanks of all sets are filled at once. The content of a blank is never read, unless it
        is `known` [B, L] (people of a window that an earlier window has named).
        """
        memory = self.encode(batch, "fitb")
        blanks = self.is_person(batch.tokens) & batch.token_mask  # [B, L]
        blanks = blanks if known is None else blanks & ~known
        tokens = torch.where(blanks, self.config.blank, batch.tokens)
        place = [row.nonzero()[:, 0].tolist() for row in blanks]
        for k in range(max(map(len, place), default=0)):
            rows = torch.tensor([b for b, at in enumerate(place) if k < len(at)], device=tokens.device)
            at = torch.tensor([at[k] for at in place if k < len(at)], device=tokens.device)
            until = int(at.max())  # what is read: tokens before the blank
            chosen = Memory(memory.x[rows], memory.real[rows], memory.streams, memory.raw[rows])
            h = self.decode(tokens[rows, :until], batch.token_clip[rows, :until], chosen)
            best = self.person_logits(h[torch.arange(len(rows), device=at.device), at - 1]).argmax(-1)
            tokens[rows, at] = self.person_tokens(best)
        return [tuple(tokens[b, at].tolist()) for b, at in enumerate(place)]

    @torch.no_grad()
    def generate(self, batch: Batch, begin: Sequence[Sequence[int]] | None = None) -> list[tuple[int, ...]]:
        """A captionset for every videoset, greedily or by beams (eq. 14): START … END, or as long as it may be.

        `begin` is how each begins, START included, where that is known.
        """
        memory = self.encode(batch, "caption")
        begin = begin or [(self.config.start,)] * len(batch.names)
        last = torch.full_like(batch.clips, self.config.clips) if self.config.compat_all_seps else batch.clips
        if self.config.beam > 1:
            return [self.search(memory, b, int(last[b]), begin[b]) for b in range(len(batch.names))]
        tape = self.tape(memory)
        G = len(begin[0]) if len({len(row) for row in begin}) == 1 else 1
        tokens = torch.tensor([list(row[:G]) for row in begin], device=memory.x.device)  # [B, G]
        clips = (tokens == self.config.sep).cumsum(1).clamp(max=self.config.clips)
        if G > 1:
            tape.read(tokens[:, :-1], clips[:, :-1])
        clip, ended = clips[:, -1], torch.zeros_like(tokens[:, 0], dtype=torch.bool)
        for t in range(G, self.config.tokens):
            best = tape.read(tokens[:, -1:], clip[:, None]).argmax(-1)
            best = torch.where(clip >= last, self.config.end, best)  # every caption is complete
            forced = torch.tensor([row[t] if t < len(row) else -1 for row in begin], device=best.device)
            best = torch.where(forced >= 0, forced, best)
            best = torch.where(ended, 0, best)
            tokens = torch.cat([tokens, best[:, None]], 1)
            clip = (clip + (best == self.config.sep)).clamp(max=self.config.clips)
            ended = ended | (best == self.config.end)
            if bool(ended.all()):
                break
        return [self.until_end(row) for row in tokens.tolist()]

    def until_end(self, row: Sequence[int]) -> tuple[int, ...]:
        return tuple(row[: row.index(self.config.end) + 1]) if self.config.end in row else tuple(row)

    def search(self, memory: Memory, b: int, last: int, begin: Sequence[int]) -> tuple[int, ...]:
        """The best captionset of one videoset among `beam`, by log-probability ÷ tokens ** length_power."""
        K, end = self.config.beam, self.config.end
        one = Memory(memory.x[[b]], memory.real[[b]], memory.streams, memory.raw[[b]])
        tape = self.tape(one)
        prefix = torch.tensor([list(begin)], device=memory.x.device)
        clips = (prefix == self.config.sep).cumsum(1).clamp(max=self.config.clips)
        if len(begin) > 1:
            tape.read(prefix[:, :-1], clips[:, :-1])
        seps = list(begin).count(self.config.sep)
        beams: list[tuple[float, tuple[int, ...], int]] = [(0.0, tuple(begin), seps)]  # log-probability, tokens, [SEP]s
        done: list[tuple[float, tuple[int, ...]]] = []
        for length in range(len(begin), self.config.tokens):
            now = torch.tensor([row[-1] for _, row, _ in beams], device=memory.x.device)
            clip = torch.tensor([n for _, _, n in beams], device=memory.x.device).clamp(max=self.config.clips)
            logp = tape.read(now[:, None], clip[:, None]).log_softmax(-1)
            grown: list[tuple[float, tuple[int, ...], int, int]] = []
            for k, (score, row, n) in enumerate(beams):
                if n >= last:  # every caption is complete: END costs nothing
                    grown.append((score, (*row, end), n, k))
                    continue
                top = logp[k].topk(min(K, logp.shape[1]))
                grown += [(score + p, (*row, w), n + (w == self.config.sep), k)
                          for p, w in zip(top.values.tolist(), top.indices.tolist(), strict=True)]  # fmt: skip
            grown = sorted(grown, key=lambda g: -g[0])[:K]
            done += [(g[0] / length**self.config.length_power, g[1]) for g in grown if g[1][-1] == end]
            going = [g for g in grown if g[1][-1] != end]
            if not going or len(done) >= K:
                break
            beams = [g[:3] for g in going]
            tape.choose(torch.tensor([g[3] for g in going], device=memory.x.device))
        done += [] if done else [(score / len(row) ** self.config.length_power, row) for score, row, _ in beams]
        return max(done)[1]

    @torch.no_grad()
    def look(self, batch: Batch, part: str) -> tuple[Tensor, Memory]:
        """The last decoder layer's attention to the memory, mean over heads. [B, L, S]

        Row t is the attention when token t was chosen; row 0, START, is empty.
        """
        memory, A = self.encode(batch, part), list[Tensor]()
        self.decode(batch.tokens[:, :-1], batch.token_clip[:, :-1], memory, A)
        return F.pad(A[0], (0, 0, 1, 0)), memory


class Tape:
    """Incremental decoding of captionsets: keys and values are cached, one token is read at a time."""

    def __init__(self, model: Model, memory: Memory) -> None:
        self.model, self.allowed, self.at = model, memory.allowed, 0
        self.memory = [layer.cross.keys(memory.x) for layer in model.decoder]  # type: ignore[operator, union-attr]
        self.past: list[KV | None] = [None] * len(self.memory)

    def read(self, tokens: Tensor, clip: Tensor) -> Tensor:
        """The next tokens of every row, several at the beginning alone; logits of what follows. [B, T] → [B, V]"""
        T = tokens.shape[1]
        causal = torch.ones(T, T, dtype=torch.bool, device=tokens.device).tril() if T > 1 else None
        x = self.model.embed(tokens, clip, self.at)
        for i, layer in enumerate(self.model.decoder):
            k, v = layer.own.keys(x)  # type: ignore[operator, union-attr]
            if (past := self.past[i]) is not None:
                k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
            self.past[i] = (k, v)
            mk, mv = (t.expand(len(x), -1, -1, -1) for t in self.memory[i])
            x = layer(x, (k, v), (mk, mv), (causal, self.allowed))
        self.at += T
        logits: Tensor = self.model.head(x[:, -1])
        return logits

    def choose(self, rows: Tensor) -> None:
        """Go on with these rows."""
        self.past = [None if kv is None else (kv[0][rows], kv[1][rows]) for kv in self.past]


# ---------------------------------------------------------------------------------------------------------------------
# The published state dict

PLACES = {  # theirs → ours
    "bert_encode": "inputs.text", "video_encode": "inputs.action", "encoder.arc_face_encoding": "inputs.face",
    "encoder.clip_encode": "inputs.frame", "encoder.type_embed": "kind", "segment_embed": "clip",
    "encoder.segment_embed": "segment", "encoder.arc_cluster_embed": "cluster", "encoder.arc_bbox_encode": "box",
    "caption_embedding": "word", "position_embed": "position", "vocab_dense": "head", "dense": "head",
}  # fmt: skip
LAYERS = {
    r"encoder\.transformer_encoder\.layers": ("encoder", {
        r"self_attn\.in_proj_": "attention.qkv.", r"self_attn\.out_proj\.": "attention.out.", r"norm1\.": "norm.",
        r"linear1\.": "ffn.up.", r"linear2\.": "ffn.down.", r"norm2\.": "ffn.norm."}),
    r"transformer_decoder\.layers": ("decoder", {
        r"self_attn\.in_proj_": "own.qkv.", r"self_attn\.out_proj\.": "own.out.", r"norm1\.": "norm_own.",
        r"multihead_attn\.in_proj_": "cross.qkv.", r"multihead_attn\.out_proj\.": "cross.out.",
        r"norm2\.": "norm_cross.", r"linear1\.": "ffn.up.", r"linear2\.": "ffn.down.", r"norm3\.": "ffn.norm."}),
}  # fmt: skip
OFFICIAL: tuple[tuple[str, str], ...] = (
    *((rf"{re.escape(theirs)}\.(weight|bias)", rf"{ours}.\1") for theirs, ours in PLACES.items()),
    *((rf"{begin}\.(\d+)\.{theirs}(weight|bias)", rf"{stack}.\1.{ours}\2")
      for begin, (stack, parts) in LAYERS.items() for theirs, ours in parts.items()),
)  # fmt: skip
UNUSED: tuple[str, ...] = (  # in every published checkpoint and never read: templates that were copied, earlier tables
    r"encoder\.encoder_layers\..+", r"decoder_layer\..+", r"encoder\.(video|spcl)_embed\..+",
    r"(logits|seen_dense)\..+",
)  # fmt: skip
READS = ("inputs.", "kind.", "clip.", "segment.", "cluster.", "box.", "encoder.")  # what reads the clips


def official_name(theirs: str) -> str | None:
    """Our name of a tensor of the published state dict; None for one that the published program never reads."""
    for pattern, ours in OFFICIAL:
        if match := re.fullmatch(pattern, theirs):
            return match.expand(ours)
    if any(re.fullmatch(pattern, theirs) for pattern in UNUSED):
        return None
    raise SpecError(f"the state has a tensor {theirs!r}, which is none of MICap's; is it a checkpoint of its code?")


def read_sizes(state: Mapping[str, Tensor], people: int = 11) -> JsonDict:
    """The fields of Config that follow from the shapes of a state under our names; heads, faces and frames do not.

    Rules of the published program that its weights rely on (which rows, which classes) are switched on with them.
    """

    def size(name: str, axis: int = 0) -> int:
        if name not in state or state[name].dim() <= axis:
            raise SpecError(f"the state lacks {name!r} of MICap; is it a checkpoint of its code?")
        return state[name].shape[axis]

    def count(stack: str) -> int:
        return len({name.split(".")[1] for name in state if name.startswith(f"{stack}.")})

    words, outputs = size("word.weight"), size("head.weight")
    task = "fitb" if outputs != words else "caption" if size("kind.weight") < len(STREAMS) else "joint"
    people = outputs - 1 if task == "fitb" else people
    return {
        "task": task, "hidden": size("word.weight", 1), "people": people, "words": words - SPECIALS - people - 2,
        "text_dim": size("inputs.text.weight", 1), "action_dim": size("inputs.action.weight", 1),
        "face_dim": size("inputs.face.weight", 1), "frame_dim": size("inputs.frame.weight", 1),
        "clips": size("clip.weight") - 1, "segments": size("segment.weight"), "clusters": size("cluster.weight"),
        "tokens": size("position.weight"), "encoder_layers": max(1, count("encoder")),
        "encoder": count("encoder") > 0, "decoder_layers": count("decoder"),
        "feedforward": size("decoder.0.ffn.up.weight"), "compat_low_rows": task == "fitb",
    }  # fmt: skip


def idle_weights(config: Config) -> tuple[str, ...]:
    """How the names of published weights begin that a model of this config has no place for."""
    unseen = [
        f"inputs.{s}." for s in STREAMS if s not in config.stream_names or (s == "text" and config.task == "caption")
    ]
    faces = () if "face" in config.stream_names else ("cluster.", "box.")
    return (*unseen, *faces, *(() if config.encoder else ("encoder.",)))


def from_official(state: Mapping[str, Tensor], **known: Any) -> Model:
    """A model with the weights of a published state dict (of torch.load(…)["model"] or the like)."""
    ours = {name: t for theirs, t in state.items() if (name := official_name(theirs)) is not None}
    model = Model(Config(**{**read_sizes(ours, known.get("people", 11)), **known}))
    wanted = model.state_dict()
    missing = sorted(wanted.keys() - ours.keys())
    if missing:
        raise SpecError(f"the state lacks {len(missing)} tensors of MICap, the first is {missing[0]!r}")
    model.load_state_dict({name: ours[name] for name in wanted})
    return model.eval()
