"""Full definition of FillIn (Park, Darrell and Rohrbach, "Identity-Aware Multi-Sentence Video Description", ECCV 2020).

The blanks of a few consecutive clips' captions are filled with people 1, 2, …: a blank's text looks at the faces of its
clip, and a Transformer names the blanks one after the other. It is the second stage of the paper: captions come with
blanks already.

    label     u_s = W_u t_s, t the blank's text feature (BERT); or W_h [→h; ←h] of an LSTM over its caption; or both
    faces     f = W_f x, one for each person of the clip, F at most;  v = W_v (its segment of the video)
    attention e = w · tanh(W_1 [f; v; 0; u_s]);  α = m · softmax(e) over all F;  α ← α / (Σ α + 10⁻⁵);  c_s = Σ α f
    memory    z_s = W_z [s; clip of s; u_s; c_s]: two plain numbers are all that says where a blank is
    encoder   post-norm, causal, no positions                                                     [B, S, D]
    decoder   person_0 = 0 (start), person_1 … person_{s−1}, causal; it reads all of the memory   [B, S, D]
    answer    p(person_s) = softmax(W dropout(h_s)) over 0 … P

    loss      mean −log p(person_s) over all blanks (+ .2 · the same of genders, W_3 max(0, W_2 W_g c_s), if `gender`)

Follows github.com/jamespark3922/lsmdc-fillin. What to know of it:

- Padding faces have f = b_f and take part in the softmax; they are masked behind it, so that α adds up to less than 1.
- The attention has columns for picture features, which the program never reads (`image_hidden`, zeros).
- Class 0, the start, may be answered: it is then a person P0 of its own. No blank is trained to be one.
- The published command line sets the weight of the gender loss and not its switch, so it trains without (`gender`).
- Order: every epoch is shuffled here; the program leaves the first one as it is and lets batches wrap around.
- Not here: text encoders that the paper leaves aside (a Transformer, two LSTMs before and after the blank), and the
  recurrent classifier, which fails in the published program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from fabula.core.errors import InputError, SpecError
from fabula.documents.fields import JsonDict
from fabula.documents.files import check_path, load_json
from fabula.learn.identity.blanks import BLANK, SOMEONE, Batch
from fabula.learn.models._layers import DecoderLayer, EncoderLayer, SmallConfig, check_heads, entropy, reset_matrices

STREAMS = ("text", "action", "face")
GENDERS = 3
NOTHING = -1e10  # of a caption without words, in the maximum


@dataclass(frozen=True)
class Config(SmallConfig):
    """FillIn for LSMDC as published; `Config.tiny()` runs on a laptop."""

    task: Literal["fitb"] = "fitb"
    streams: str = "text,action,face"  # "text": the text-only row; "text,face": no video
    label: Literal["features", "words", "both"] = "features"  # how a blank's text is read: see top
    pool: Literal["last", "max", "blank"] = "last"  # of the LSTM: both ends, the maximum, the output at the blank
    gender: bool = False  # also tell the gender of each blank, from its faces
    gender_weight: float = 0.2  # of that loss
    # raw features
    text_dim: int = 1536  # [CLS; blank] of BERT
    action_dim: int = 1024  # I3D
    face_dim: int = 512  # FaceNet
    # a set
    clips: int = 5  # N
    segments: int = 5  # of a clip
    faces: int = 10  # F, people of a clip; the rest is cut
    blanks: int = 17  # S at most
    people: int = 11  # P
    face_clusters: Literal["clip"] = "clip"  # faces are clustered within each clip alone
    pool_faces: bool = True  # a person's faces of a clip are one, their mean
    face_eps: float = 0.75  # where the data do not say who is who: faces within this cosine distance are one person's
    # words
    vocabulary: tuple[str, ...] = ()  # for label words or both; () for bare features
    tokens: int = 100  # of a caption, the zeros before and behind it included
    # widths
    hidden: int = 512  # D
    rnn: int = 512  # of a label, and of each direction of the LSTM
    word_dim: int = 512
    face_hidden: int = 512
    video_hidden: int = 256
    image_hidden: int = 256  # columns of zeros: see top
    heads: int = 8
    encoder_layers: int = 6
    decoder_layers: int = 6
    feedforward: int = 2048
    dropout: float = 0.1  # in the Transformer
    dropout_ends: float = 0.5  # of words, before the answer, and in the gender head

    def __post_init__(self) -> None:
        unknown = [name for name in self.stream_names if name not in STREAMS]
        if unknown or "text" not in self.stream_names:
            raise SpecError(f"streams is {self.streams!r}; FillIn takes text, and maybe action, face, with commas")
        if "action" in self.stream_names and "face" not in self.stream_names:
            raise SpecError("FillIn sees the video only where it looks at faces; use streams=text or text,action,face")
        check_heads(self.hidden, self.heads)
        if self.gender and self.face_hidden != self.hidden:
            raise SpecError(f"gender needs face_hidden ({self.face_hidden}) to be hidden ({self.hidden})")

    small: ClassVar = {
        "hidden": 64,
        "rnn": 32,
        "word_dim": 32,
        "face_hidden": 64,
        "video_hidden": 16,
        "image_hidden": 0,
        "heads": 4,
        "encoder_layers": 1,
        "decoder_layers": 2,
        "feedforward": 128,
        "dropout": 0.0,
        "dropout_ends": 0.0,
    }  # of `tiny`, for a laptop

    @property
    def stream_names(self) -> tuple[str, ...]:
        """The streams by name."""
        return tuple(dict.fromkeys(name.strip() for name in self.streams.split(",") if name.strip()))

    @property
    def reads_words(self) -> bool:
        return self.label != "features"

    @property
    def reads_features(self) -> bool:
        return self.label != "words"

    @property
    def label_dim(self) -> int:
        return self.rnn * (2 if self.label == "both" else 1)


@dataclass(frozen=True)
class Answer:
    """What fills the blanks of a set: person k is P(k); genders if the model tells them."""

    name: str
    filled: tuple[int, ...]
    genders: tuple[int, ...] | None = None


class Model(nn.Module):
    name: ClassVar[str] = "fillin"
    config_class: ClassVar[type[Config]] = Config
    inference: ClassVar[tuple[str, ...]] = ("face_eps",)
    leaves_unused = True  # no word, no face, no gender: no gradient
    passes: tuple[str, ...] = ("fitb",)
    recipe: ClassVar[dict[str, object]] = {
        "epochs": 30, "batch_size": 64, "lr": 5e-5, "weight_decay": 0.0, "betas": (0.9, 0.999), "schedule": "staircase",
        "decay": 0.8, "decay_from": 3, "decay_every": 3, "decay_times": 1000, "clip_norm": None, "clip_value": 0.1,
    }  # fmt: skip

    def __init__(self, config: Config) -> None:
        super().__init__()
        c = self.config = config
        if c.reads_words:
            self.words = nn.Embedding(max(2, len(c.vocabulary)), c.word_dim)
            self.lstm = nn.LSTM(c.word_dim, c.rnn, batch_first=True, bidirectional=True)
            self.sentence = nn.Linear(2 * c.rnn, c.rnn)
        if c.reads_features:
            self.text = nn.Linear(c.text_dim, c.rnn)
        if "face" in c.stream_names:
            self.face = nn.Linear(c.face_dim, c.face_hidden)
            wide = c.face_hidden + c.video_hidden + c.image_hidden + c.label_dim
            self.look, self.energy = nn.Linear(wide, c.face_hidden), nn.Linear(c.face_hidden, 1, bias=False)
        if "action" in c.stream_names:
            self.video = nn.Linear(c.action_dim, c.video_hidden)
        if c.gender:
            self.gender_face = nn.Linear(c.face_hidden, c.face_hidden)
            self.gender_up, self.gender_out = nn.Linear(c.hidden, c.hidden), nn.Linear(c.hidden, GENDERS)
        self.memory = nn.Linear(2 + c.label_dim + c.face_hidden, c.hidden)
        self.encoder = nn.ModuleList(EncoderLayer(c) for _ in range(c.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(c) for _ in range(c.decoder_layers))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(c.hidden), nn.LayerNorm(c.hidden)
        self.person = nn.Embedding(c.people + 1, c.hidden)  # 0: the start
        self.head, self.drop = nn.Linear(c.hidden, c.people + 1), nn.Dropout(c.dropout_ends)
        self.reset()

    def reset(self) -> None:
        """U(−.1, .1) for tables and projections, Xavier for the attentions and the Transformer."""
        reset_matrices(self.encoder, self.decoder)
        for name in ("words", "video", "face", "memory", "person", "head"):
            if hasattr(self, name):
                nn.init.uniform_(getattr(self, name).weight, -0.1, 0.1)
        nn.init.zeros_(self.head.bias)
        if "face" in self.config.stream_names:
            nn.init.xavier_normal_(self.look.weight)
            nn.init.xavier_normal_(self.energy.weight)

    # --- memory ------------------------------------------------------------------------------------------------------

    def read_words(self, words: Tensor, length: Tensor) -> Tensor:
        """Captions by the LSTM; one without words has length 1. [n, L], [n] → [n, R]"""
        x = self.drop(self.words(words))
        with torch.autocast(x.device.type, enabled=False):  # CPUs may have no LSTM in half precision
            packed = pack_padded_sequence(x.float(), length.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False)
            out, (h, _) = self.lstm(packed)
        if self.config.pool == "last":
            return self.sentence(h.transpose(0, 1).flatten(1))  # type: ignore[no-any-return]
        y, _ = pad_packed_sequence(out, batch_first=True)  # [n, L', 2R]
        if self.config.pool == "max":
            real = torch.arange(y.shape[1], device=y.device) < length[:, None]
            pooled = y.masked_fill(~real[..., None], NOTHING).amax(1)
        else:
            at = (words == self.config.vocabulary.index(BLANK)).float().argmax(-1)  # 0 where there is none
            pooled = y[torch.arange(len(y), device=y.device), at]
        return self.sentence(pooled)  # type: ignore[no-any-return]

    def labels(self, batch: Batch) -> Tensor:
        """u_s. [B, S, U]"""
        B, S, L = batch.words.shape
        parts = []
        if self.config.reads_words:
            parts.append(self.read_words(batch.words.view(B * S, L), batch.length.flatten()).view(B, S, -1))
        if self.config.reads_features:
            parts.append(self.text(batch.text))
        return torch.cat(parts, -1)

    def attend(self, batch: Batch, labels: Tensor) -> tuple[Tensor, Tensor]:
        """α and c_s of every blank. [B, S, F], [B, S, D_f]"""
        c = self.config
        B, S, _ = labels.shape
        if "face" not in c.stream_names:
            return labels.new_zeros(B, S, 0), labels.new_zeros(B, S, c.face_hidden)
        rows, clip = torch.arange(B, device=labels.device)[:, None], batch.clip.clamp(min=0)
        f = self.face(batch.face)[rows, clip]  # [B, S, F, D_f]
        n = f.shape[2]
        watches = "action" in c.stream_names
        v = self.video(batch.video)[rows, clip] if watches else f.new_zeros(B, S, n, c.video_hidden)
        image = f.new_zeros(B, S, n, c.image_hidden)
        wide = torch.cat([f, v, image, labels[:, :, None].expand(B, S, n, -1)], -1)
        real = batch.face_mask[rows, clip] & batch.mask[..., None]
        a = self.energy(self.look(wide).tanh())[..., 0].softmax(-1) * real  # [B, S, F]
        a = a / (a.sum(-1, keepdim=True) + 1e-5)
        return a, (a[..., None] * f).sum(2)

    def remember(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """z and c_s of all blanks. [B, S, D], [B, S, D_f]"""
        labels = self.labels(batch)
        _, context = self.attend(batch, labels)
        B, S, _ = labels.shape
        order = torch.arange(S, device=labels.device, dtype=labels.dtype).expand(B, S)
        where = torch.stack([order, batch.clip.to(labels.dtype)], -1)
        z: Tensor = self.memory(torch.cat([where, labels, context], -1))
        return z, context

    def genders(self, context: Tensor) -> Tensor:
        """Logits of man, woman, several. [..., D_f] → [..., 3]"""
        logits: Tensor = self.gender_out(F.relu(self.drop(self.gender_up(self.gender_face(context)))))
        return logits

    # --- who is who --------------------------------------------------------------------------------------------------

    def encode(self, z: Tensor) -> Tensor:
        S = z.shape[1]
        causal = torch.ones(S, S, dtype=torch.bool, device=z.device).tril()  # padding stands behind: it is not seen
        for layer in self.encoder:
            z = layer(z, causal)
        y: Tensor = self.encoder_norm(z)
        return y

    def decode(self, people: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """h_s after people 0 … s − 1. [B, T] → [B, T, D]"""
        T = people.shape[1]
        causal = torch.ones(T, T, dtype=torch.bool, device=people.device).tril()
        real = (mask | ~mask.any(-1, keepdim=True))[:, None, None]  # no softmax is empty
        x = self.person(people)
        for layer in self.decoder:
            x = layer(x, layer.own.keys(x), layer.cross.keys(memory), (causal, real))  # type: ignore[operator, union-attr]
        h: Tensor = self.decoder_norm(x)
        return h

    def loss(self, batch: Batch, part: str = "fitb") -> dict[str, Tensor]:
        """−log p(person), and of genders; blanks whose person is not known have none."""
        z, context = self.remember(batch)
        before = F.pad(batch.person, (1, 0))[:, :-1]  # 0, person 1, …
        h = self.decode(before, self.encode(z), batch.mask)
        known = batch.mask & (batch.person > 0)
        fitb = entropy(self.head(self.drop(h[known])), batch.person[known])
        if not self.config.gender:
            return {"loss": fitb, "fitb": fitb.detach()}
        labelled = batch.mask & (batch.gender >= 0)
        gender = entropy(self.genders(context[labelled]), batch.gender[labelled])
        loss = fitb + self.config.gender_weight * gender
        return {"loss": loss, "fitb": fitb.detach(), "gender": gender.detach()}

    @torch.no_grad()
    def predict(self, batch: Batch) -> list[Answer]:
        """The blanks of every set, from the first to the last: each is chosen knowing those before it."""
        z, context = self.remember(batch)
        memory = self.encode(z)
        people = torch.zeros_like(batch.clip[:, :1])
        for _ in range(z.shape[1]):
            best = self.head(self.decode(people, memory, batch.mask)[:, -1]).argmax(-1)
            people = torch.cat([people, best[:, None]], 1)
        genders = self.genders(context).argmax(-1).tolist() if self.config.gender else None
        answers = []
        for i, (name, n) in enumerate(zip(batch.names, batch.mask.sum(-1).tolist(), strict=True)):
            filled = tuple(people[i, 1 : n + 1].tolist())
            answers.append(Answer(name, filled, None if genders is None else tuple(genders[i][:n])))
        return answers


# ---------------------------------------------------------------------------------------------------------------------
# The published state dict

SENTENCE = r"memory_generator\.sent_embed\.module\."
LAYER = {
    r"self_attn\.in_proj_": "{own}.qkv.", r"self_attn\.out_proj\.": "{own}.out.", r"linear1\.": "ffn.up.",
    r"linear2\.": "ffn.down.",
}  # fmt: skip
STACKS = {
    "encoder": ("attention", {r"norm1\.": "norm.", r"norm2\.": "ffn.norm."}),
    "decoder": ("own", {r"multihead_attn\.in_proj_": "cross.qkv.", r"multihead_attn\.out_proj\.": "cross.out.",
                        r"norm1\.": "norm_own.", r"norm2\.": "norm_cross.", r"norm3\.": "ffn.norm."}),
}  # fmt: skip
OFFICIAL: tuple[tuple[str, str], ...] = (
    (rf"{SENTENCE}word_embed\.(.+)", r"words.\1"),
    (rf"{SENTENCE}sent_rnn\.(.+)", r"lstm.\1"),
    (rf"{SENTENCE}sent_embed\.(.+)", r"sentence.\1"),
    (r"memory_generator\.bert_embedding\.(.+)", r"text.\1"),
    (r"memory_generator\.fc_embed\.(.+)", r"video.\1"),
    (r"memory_generator\.face_embed\.(.+)", r"face.\1"),
    (r"memory_generator\.face_attention\.linear1\.(.+)", r"look.\1"),
    (r"memory_generator\.face_attention\.linear2\.(.+)", r"energy.\1"),
    (r"memory_generator\.gender_face_embed\.(.+)", r"gender_face.\1"),
    (r"memory_generator\.gender_logit\.0\.(.+)", r"gender_up.\1"),
    (r"memory_generator\.gender_logit\.3\.(.+)", r"gender_out.\1"),
    (r"memory_generator\.encoder\.(.+)", r"memory.\1"),
    (r"character_embed\.(.+)", r"person.\1"),
    (r"logit\.(.+)", r"head.\1"),
    (r"transformer\.(encoder|decoder)\.norm\.(.+)", r"\1_norm.\2"),
    *((rf"transformer\.{stack}\.layers\.(\d+)\.{theirs}(weight|bias)", rf"{stack}.\1.{ours.format(own=own)}\2")
      for stack, (own, norms) in STACKS.items() for theirs, ours in {**LAYER, **norms}.items()),
)  # fmt: skip
UNUSED: tuple[str, ...] = (r"gender_logit\..+",)  # a second head that the published program never reads
READS = ("text.", "words.", "lstm.", "sentence.", "face.", "video.", "look.", "energy.", "memory.", "encoder")


def read_sizes(state: Mapping[str, Tensor]) -> JsonDict:
    """The fields of Config that follow from the shapes of a state under our names; heads, faces and segments do not."""

    def size(name: str, axis: int = 0) -> int:
        if name not in state or state[name].dim() <= axis:
            raise SpecError(f"the state lacks {name!r} of FillIn; is it a checkpoint of its code?")
        return state[name].shape[axis]

    def count(stack: str) -> int:
        return len({name.split(".")[1] for name in state if name.startswith(f"{stack}.")})

    rnn, face, label = size("sentence.weight"), size("face.weight"), size("memory.weight", 1) - 2 - size("face.weight")
    rest = size("look.weight", 1) - face - label  # of video and pictures
    video = size("video.weight") if "video.weight" in state else min(rest, Config.video_hidden)
    return {
        "label": "words" if "text.weight" not in state else "both" if label == 2 * rnn else "features",
        "streams": "text,action,face" if "video.weight" in state else "text,face",
        "gender": "gender_out.weight" in state, "people": size("head.bias") - 1, "rnn": rnn,
        "word_dim": size("words.weight", 1), "words": size("words.weight"), "face_hidden": face,
        "video_hidden": video, "image_hidden": rest - video, "hidden": size("memory.weight"),
        "face_dim": size("face.weight", 1), "encoder_layers": count("encoder"), "decoder_layers": count("decoder"),
        "feedforward": size("encoder.0.ffn.up.weight"),
        **({"text_dim": size("text.weight", 1)} if "text.weight" in state else {}),
        **({"action_dim": size("video.weight", 1)} if "video.weight" in state else {}),
    }  # fmt: skip


def idle_weights(config: Config) -> tuple[str, ...]:
    """How the names of published weights begin that a model of this config has no place for."""
    return (
        *(() if config.reads_words else ("words.", "lstm.", "sentence.")),
        *(() if config.reads_features else ("text.",)),
        *(() if "face" in config.stream_names else ("face.", "look.", "energy.")),
        *(() if "action" in config.stream_names else ("video.",)),
        *(() if config.gender else ("gender_",)),
    )


def read_vocabulary(path: str | Path) -> tuple[str, ...]:
    """The words of the published program's LSMDC16_info….json: {"ix_to_word": {"0": "<eos>", …}}."""
    document = load_json(check_path(path))
    by_index = document.get("ix_to_word") if isinstance(document, dict) else None
    words = [by_index.get(str(i)) for i in range(len(by_index))] if isinstance(by_index, dict) else []
    if not all(isinstance(word, str) for word in words) or not {BLANK, SOMEONE} <= set(words):
        raise InputError("not a vocabulary of FillIn", file=path, hint='it is {"ix_to_word": {"0": "<eos>", …}, …}')
    return tuple(str(word) for word in words)


def from_official(state: Mapping[str, Tensor], **known: Any) -> Model:
    """A model with the weights of a published state dict."""
    from fabula.learn.official import TABLES, check_fit, rename

    ours, _ = rename(dict(state), TABLES["fillin"], "the state")
    sizes = {name: value for name, value in read_sizes(ours).items() if name != "words"}
    model = Model(Config(**{**sizes, **known}))
    idle = idle_weights(model.config)
    loaded = {name: t for name, t in ours.items() if not (idle and name.startswith(idle))}
    check_fit(loaded, model.state_dict(), "the state")
    model.load_state_dict(loaded)
    return model.eval()
