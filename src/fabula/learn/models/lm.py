"""T5 and GPT-2 as captioners of MICap's tokens (Raajesh et al., CVPR 2024, Table 6): language models that see.

MICap's encoder and decoder are replaced, all else is MICap: streams projected to tokens with their embeddings
(eq. 2–5), captionsets of words and people, both tasks, decoding.

    T5      tokens → T5's encoder → memory; T5's decoder reads the memory and writes
    GPT-2   q ← LN(q + MHA(q)), LN(q + MHA(q, tokens)), FFN, `bridge_layers` times, over K learnt q: a prefix of K
            tokens (QFormer) → GPT-2 reads prefix and words, and writes
    words   the model's own, then 3 specials (the first is [SEP]), P1 … P11, START, END, rows of the same table
    logits  h Wᵀ, W that table; T5's h is divided by √D, as T5 does
    loss    mean over all tokens: transformers' own, teacher forced

"Only CLIP" is `streams=frame`, "all features" `streams=action,face,frame`. In FITB (task fitb or joint) only people can
be chosen at a blank. The paper gives no sizes of the prefix and no recipe; K = 32 and two layers are BLIP-2's count of
queries and our choice, the recipe is MICap's.

Weights are the user's folder, as `transformers` saves it (--from t5-base/: config.json, model.safetensors,
tokenizer.json); nothing is downloaded. With --tiny a small model begins at random, on pieces of the captions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from fabula.core.errors import InputError, SpecError, import_extra
from fabula.documents.fields import JsonDict
from fabula.documents.files import load_json
from fabula.learn.identity.videosets import Batch
from fabula.learn.models import micap
from fabula.learn.models._layers import DecoderLayer

UNREAD = ("lm_head.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight")  # the words' table again
SIZES = {  # ours → transformers'
    "t5": {"heads": "num_heads", "encoder_layers": "num_layers", "decoder_layers": "num_decoder_layers",
           "feedforward": "d_ff"},
    "gpt2": {"heads": "n_head", "decoder_layers": "n_layer", "feedforward": "n_inner"},
}  # fmt: skip
MASKS = (".attn.bias", ".attn.masked_bias")  # in old files of GPT-2


@dataclass(frozen=True)
class Config(micap.Config):
    """T5-Base or GPT-2 on LSMDC; `Config.tiny()` is a small one that begins at random."""

    task: Literal["joint", "fitb", "caption"] = "caption"
    streams: str = "action,face,frame"  # "frame": only CLIP
    base: Literal["t5", "gpt2"] = "t5"
    hidden: int = 768
    heads: int = 12
    encoder_layers: int = 12  # of T5
    decoder_layers: int = 12
    feedforward: int = 3072
    prefix: int = 32  # GPT-2: K
    bridge_layers: int = 2  # GPT-2: layers of the QFormer
    caption_loss: Literal["split_mean", "mean"] = "mean"
    architecture: str = ""  # the folder's config.json; "": made of the sizes above
    tokenizer: str = ""  # the folder's tokenizer.json; "": pieces of `vocabulary`

    small: ClassVar = {
        "hidden": 64,
        "heads": 4,
        "encoder_layers": 1,
        "decoder_layers": 2,
        "feedforward": 128,
        "prefix": 8,
        "bridge_layers": 1,
        "frames": 8,
        "faces": 40,
        "clusters": 41,
        "dropout": 0.0,
    }  # of `tiny`, for a laptop

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.architecture and (kind := json.loads(self.architecture).get("model_type")) != self.base:
            raise SpecError(f"base is {self.base}; the weights are of {kind}")
        if self.classifier != "shared":
            raise SpecError("a language model has one table of words and people; classifier=separate is MICap's")

    def shape(self) -> JsonDict:
        """The language model's own config, with our dropout and without a table of words."""
        sizes: JsonDict = json.loads(self.architecture) if self.architecture else self.own_sizes()
        rates = ("dropout_rate",) if self.base == "t5" else ("resid_pdrop", "embd_pdrop", "attn_pdrop")
        return {**sizes, **dict.fromkeys(rates, self.dropout), "vocab_size": 1, "pad_token_id": None,
                "bos_token_id": None, "eos_token_id": None}  # fmt: skip

    def own_sizes(self) -> JsonDict:
        if self.base == "t5":
            return {"d_model": self.hidden, "d_kv": self.hidden // self.heads, "d_ff": self.feedforward,
                    "num_layers": self.encoder_layers, "num_decoder_layers": self.decoder_layers,
                    "num_heads": self.heads}  # fmt: skip
        return {"n_embd": self.hidden, "n_layer": self.decoder_layers, "n_head": self.heads,
                "n_inner": self.feedforward, "n_positions": self.prefix + self.tokens}  # fmt: skip

    @property
    def scale(self) -> float:
        """Of T5's last states; version 1.1, whose table is not tied, leaves them."""
        tied = json.loads(self.architecture or "{}").get("tie_word_embeddings", True)
        return float(self.hidden**-0.5) if self.base == "t5" and tied is not False else 1.0


class Model(micap.Model):
    name: ClassVar[str] = "lm"
    config_class: ClassVar[type[Config]] = Config
    config: Config
    inference: ClassVar[tuple[str, ...]] = micap.Model.inference
    recipe: ClassVar[dict[str, object]] = micap.Model.recipe
    parts: ClassVar[Mapping[str, tuple[str, ...]]] = {"language": ("reader.", "writer.", "word.")}
    grows: ClassVar[tuple[str, ...]] = ("word.weight",)  # by people and specials

    def build_words(self, config: micap.Config) -> None:
        assert isinstance(config, Config)
        transformers = import_extra("transformers", "T5 and GPT-2", "lm")
        D = config.hidden
        self.word = nn.Embedding(config.size, D)
        if config.base == "t5":
            both = transformers.T5Model(transformers.T5Config(**config.shape()))
            self.reader, self.writer = both.encoder, both.decoder
            self.reader.embed_tokens = self.writer.embed_tokens = nn.Identity()  # words are embedded here
            return
        nn.init.normal_(self.word.weight, 0.0, 0.02)
        self.queries = nn.Parameter(torch.randn(config.prefix, D) * 0.02)
        self.bridge = nn.ModuleList(DecoderLayer(config) for _ in range(config.bridge_layers))
        self.writer = transformers.GPT2Model(transformers.GPT2Config(**config.shape()))
        self.writer.wte = nn.Identity()

    def encode(self, batch: Batch, part: str) -> micap.Memory:
        """T5: what its encoder makes of the tokens. GPT-2: the prefix."""
        memory = self.see(batch, part)
        if self.config.base == "t5":
            memory.x = self.reader(inputs_embeds=memory.x, attention_mask=real_of(memory)).last_hidden_state
            return memory
        q = self.queries.expand(len(memory.x), -1, -1)
        for layer in self.bridge:
            q = layer(q, layer.own.keys(q), layer.cross.keys(memory.raw), (None, memory.allowed))  # type: ignore[operator, union-attr]
        return micap.Memory(q, q.new_ones(q.shape[:2], dtype=torch.bool), {}, q)

    def decode(
        self, tokens: Tensor, clip: Tensor, memory: micap.Memory, A: list[Tensor] | None = None, cache: Any = None
    ) -> Tensor:
        """h_j after reading w_1 … w_j and the memory; `cache`, if given, has read the words before."""
        x, more = self.word(tokens), {"past_key_values": cache, "use_cache": cache is not None}
        if self.config.base == "t5":
            read = {"encoder_hidden_states": memory.x, "encoder_attention_mask": real_of(memory)}
            h: Tensor = self.writer(inputs_embeds=x, **read, **more).last_hidden_state
            return h * self.config.scale
        K = 0 if cache is not None and cache.get_seq_length() else memory.x.shape[1]
        x = torch.cat([memory.x, x], 1) if K else x
        y: Tensor = self.writer(inputs_embeds=x, **more).last_hidden_state
        return y[:, K:]

    def logits(self, h: Tensor) -> Tensor:
        return F.linear(h, self.word.weight)

    def tape(self, memory: micap.Memory) -> Tape:
        return Tape(self, memory)

    def look(self, batch: Batch, part: str) -> tuple[Tensor, micap.Memory]:
        raise SpecError(
            f"a language model answers sets of at most {self.config.clips} clips: longer ones need MICap's attention"
        )

    @classmethod
    def read_folder(cls, path: Path) -> tuple[JsonDict, dict[str, Tensor]]:
        """What a folder of T5's or GPT-2's weights says of the config, and the weights under our names."""
        files = {name: path / name for name in ("config.json", "tokenizer.json", "model.safetensors")}
        missing = [name for name, file in files.items() if not file.is_file()]
        if missing:
            hint = "it is what save_pretrained of transformers writes, with safetensors and a fast tokenizer"
            raise InputError(f"no {missing[0]} in this folder", file=path, hint=hint)
        shape = load_json(files["config.json"])
        base = shape.get("model_type") if isinstance(shape, dict) else None
        if base not in ("t5", "gpt2"):
            raise InputError(f"weights of {base!r}", file=files["config.json"], hint="name a folder of T5 or GPT-2")
        from safetensors.torch import load_file

        weights = rename(load_file(files["model.safetensors"]), files["model.safetensors"])
        rows, hidden = weights["word.weight"].shape
        sizes = {ours: shape[theirs] for ours, theirs in SIZES[base].items() if shape.get(theirs)}
        return {
            **sizes, "base": base, "hidden": hidden, "words": rows, "sep": rows, "architecture": json.dumps(shape),
            "tokenizer": files["tokenizer.json"].read_text(encoding="utf-8"),
        }, weights  # fmt: skip


def real_of(memory: micap.Memory) -> Tensor:
    """What is there, as transformers takes it. [B, S]"""
    return memory.allowed[:, 0, 0].long()


def rename(state: Mapping[str, Tensor], file: object) -> dict[str, Tensor]:
    """transformers' names → ours."""
    plain = {name.removeprefix("transformer."): t for name, t in state.items() if not name.endswith(MASKS)}
    words = plain.pop("shared.weight", plain.pop("wte.weight", None))
    if words is None:
        raise InputError("no table of words", file=file, hint="name weights of T5 or GPT-2")
    for name in UNREAD:
        if (again := plain.pop(name, words)).shape != words.shape or not torch.equal(again, words):
            raise InputError(
                f"{name} is a table of its own (T5 1.1)", file=file, hint="use T5 1.0 (t5-base), whose table is shared"
            )
    stacks = {"encoder": "reader", "decoder": "writer"}
    ours = {"word.weight": words.float()}
    for name, t in plain.items():
        first, _, rest = name.partition(".")
        ours[f"{stacks[first]}.{rest}" if first in stacks else f"writer.{name}"] = t.float()
    return ours


class Tape(micap.Tape):
    """Incremental decoding with transformers' cache."""

    def __init__(self, model: Model, memory: micap.Memory) -> None:
        transformers = import_extra("transformers", "T5 and GPT-2", "lm")
        self.language, self.seen = model, memory
        self.cache = transformers.DynamicCache()
        if model.config.base == "t5":
            self.cache = transformers.EncoderDecoderCache(self.cache, transformers.DynamicCache())

    def read(self, tokens: Tensor, clip: Tensor) -> Tensor:
        n, memory = len(tokens), self.seen
        if len(memory.x) != n:  # one videoset, several beams
            memory = micap.Memory(*(t.expand(n, *t.shape[1:]) for t in (memory.x, memory.real)), {}, memory.raw)
        return self.language.logits(self.language.decode(tokens, clip, memory, cache=self.cache)[:, -1])

    def choose(self, rows: Tensor) -> None:
        self.cache.reorder_cache(rows)
