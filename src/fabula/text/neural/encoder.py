"""BERT (Devlin et al., NAACL 2019) and RoBERTa (Liu et al., 2019), the encoder alone, in numpy.

x_0   = LN(word + position + type)
a     = LN(x + W_o · softmax(q kᵀ / √d_h) v)        per head; q, k, v = W x + b
x_l+1 = LN(a + W_2 · gelu(W_1 a))

A folder has config.json, model.safetensors (or pytorch names inside it, with or without "bert." before them) and
tokenizer.json, as model hubs lay them out. No torch: one set of weights costs its own size in memory.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Floats = NDArray[np.float32]
FAMILIES = ("bert", "roberta")
TOKENS = 4096  # of one batch


@dataclass(frozen=True, slots=True)
class Shape:
    """What config.json says, as far as it is needed."""

    family: str
    layers: int
    heads: int
    width: int
    longest: int  # tokens of a sentence, with its two ends
    offset: int  # the number of the first position: RoBERTa begins after its padding
    eps: float


class Encoder:
    """An opened folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shape = read_shape(folder)
        self.weights = read_weights(folder, self.shape)
        self.tokenizer = read_tokenizer(folder, self.shape)

    def tokens(self, sentences: Sequence[str]) -> list[list[int]]:
        """Ids with both ends; too long ones are cut, as the reference packages do."""
        return [encoding.ids for encoding in self.tokenizer.encode_batch([s.strip() for s in sentences])]

    def encode(self, ids: Sequence[Sequence[int]], layer: int | None = None) -> list[Floats]:
        """A vector a token after this layer (None: the last), sentence by sentence. [T, C] each"""
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        found: list[Floats] = [np.zeros((0, self.shape.width), np.float32)] * len(ids)
        start = 0
        while start < len(order):
            stop = start + 1
            while stop < len(order) and len(ids[order[stop]]) * (stop + 1 - start) <= TOKENS:
                stop += 1
            batch = order[start:stop]
            for i, vectors in zip(batch, self.batch([ids[i] for i in batch], layer), strict=True):
                found[i] = vectors
            start = stop
        return found

    def batch(self, ids: Sequence[Sequence[int]], layer: int | None) -> list[Floats]:
        w, n = self.weights, max(map(len, ids))
        tokens = np.zeros((len(ids), n), np.int64)
        real = np.zeros((len(ids), n), bool)
        for i, row in enumerate(ids):
            tokens[i, : len(row)], real[i, : len(row)] = row, True
        x = w["embeddings.word_embeddings.weight"][tokens]  # [B, T, C]
        x = x + w["embeddings.position_embeddings.weight"][self.shape.offset : self.shape.offset + n]
        x = self.normed(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        padding = np.where(real, 0.0, -np.inf).astype(np.float32)[:, None, None, :]  # [B, 1, 1, T]
        for k in range(self.shape.layers if layer is None else layer):
            x = self.layer(x, padding, f"encoder.layer.{k}")
        return [x[i, : len(row)] for i, row in enumerate(ids)]

    def layer(self, x: Floats, unseen: Floats, at: str) -> Floats:
        B, T, C = x.shape
        H = self.shape.heads
        q, k, v = (
            self.linear(x, f"{at}.attention.self.{name}").reshape(B, T, H, C // H).transpose(0, 2, 1, 3)
            for name in ("query", "key", "value")
        )  # [B, H, T, C/H]
        scores = q @ k.transpose(0, 1, 3, 2) / np.float32(np.sqrt(C // H)) + unseen  # [B, H, T, T]
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        mixed = (scores @ v).transpose(0, 2, 1, 3).reshape(B, T, C)
        a = self.normed(x + self.linear(mixed, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
        inner = gelu(self.linear(a, f"{at}.intermediate.dense"))
        return self.normed(a + self.linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")

    def linear(self, x: Floats, name: str) -> Floats:
        W = self.weights[f"{name}.weight"]
        flat = x.reshape(-1, W.shape[1]) @ W.T  # one product, not one a sentence
        flat += self.weights[f"{name}.bias"]
        return flat.reshape(*x.shape[:-1], W.shape[0])

    def normed(self, x: Floats, name: str) -> Floats:
        x = x - x.mean(axis=-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(self.shape.eps))
        out: Floats = x * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]
        return out


def gelu(x: Floats) -> Floats:
    """x · Φ(x), with the error function to 1e-7 (Abramowitz & Stegun 7.1.26)."""
    z = np.abs(x)
    z *= np.float32(np.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * z)
    tail = np.full_like(t, 1.061405429)
    for a in (-1.453152027, 1.421413741, -0.284496736, 0.254829592, 0.0):
        tail *= t
        tail += np.float32(a)
    z *= z
    np.exp(np.negative(z, out=z), out=z)
    z *= tail  # 1 − erf(|x|/√2)
    erf: Floats = np.copysign(1 - z, x)
    erf += 1
    erf *= x
    erf *= np.float32(0.5)
    return erf


def read_json(folder: Path, name: str) -> dict[str, Any]:
    file = folder / name
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        hint = "an encoder is a folder with config.json, model.safetensors and tokenizer.json"
        raise InputError(f"cannot be read ({error.strerror})", file=file, hint=hint) from None
    except ValueError:
        raise InputError("not JSON", file=file, hint="copy the model's folder again") from None
    if not isinstance(found, dict):
        raise InputError("not an object", file=file, hint="copy the model's folder again")
    return found


def read_shape(folder: Path) -> Shape:
    config = read_json(folder, "config.json")
    family = config.get("model_type")
    if family not in FAMILIES:
        hint = f"encoders that are read here: {', '.join(FAMILIES)}"
        raise InputError(f"model_type is {family!r:.60}", file=folder / "config.json", hint=hint)
    names = ("num_hidden_layers", "num_attention_heads", "hidden_size", "max_position_embeddings")
    sizes = [config.get(name) for name in names]
    if not all(isinstance(n, int) and 0 < n < 1 << 20 for n in sizes) or sizes[2] % sizes[1]:  # type: ignore[operator]
        raise InputError(f"{', '.join(names)} are {sizes!r:.80}", file=folder / "config.json", hint="copy it again")
    offset = config.get("pad_token_id", 1) + 1 if family == "roberta" else 0
    layers, heads, width, positions = (int(n) for n in sizes)  # type: ignore[arg-type]
    return Shape(
        family, layers, heads, width, min(512, positions - offset), offset, config.get("layer_norm_eps", 1e-12)
    )


def read_weights(folder: Path, shape: Shape) -> dict[str, Floats]:
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file
    except ImportError:
        raise MissingExtra("an encoder of sentences", "neural") from None
    file = folder / "model.safetensors"
    try:
        loaded = load_file(file)
    except (OSError, SafetensorError) as error:
        hint = "weights are read from model.safetensors alone: it holds numbers and nothing that runs"
        raise InputError(f"cannot be read ({str(error)[:80]})", file=file, hint=hint) from None
    found = {name.removeprefix(f"{shape.family}."): array for name, array in loaded.items()}
    last = f"encoder.layer.{shape.layers - 1}.output.LayerNorm.weight"
    for name in ("embeddings.word_embeddings.weight", last):
        if name not in found:
            raise InputError(f"has no {name}", file=file, hint="config.json and the weights are of two models")
    return {
        name: np.ascontiguousarray(array, np.float32)
        for name, array in found.items()
        if name.startswith(("embeddings.", "encoder.")) and array.dtype.kind == "f"
    }


def read_tokenizer(folder: Path, shape: Shape) -> Tokenizer:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtra("an encoder of sentences", "neural") from None
    file = folder / "tokenizer.json"
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # it raises nothing more special
        raise InputError(
            f"cannot be read ({str(error)[:80]})", file=file, hint="copy the model's folder again"
        ) from None
    tokenizer.no_padding()
    tokenizer.enable_truncation(shape.longest)
    return tokenizer
