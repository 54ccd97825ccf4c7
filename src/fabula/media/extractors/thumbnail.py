"""Thumbnail: each frame shrunk to 8 × 8 squares of colour, 192 numbers. Needs nothing, knows nothing.

No network and no weights: for trying a pipeline out, for tests, and as the baseline that a learnt feature should beat.

    f = mean colour of each square, from 0 to 1, rows from above, red green blue
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fabula.media import base
from fabula.media.base import Clips, Vectors

SIDE = 8


@dataclass(frozen=True, kw_only=True)
class Extractor(base.Extractor):
    """Of a clip, the mean of its frames."""

    name = "thumbnail"
    library = "none"
    licence = "none: it has no weights"

    resize: int = 64
    size: int = 64
    mean: tuple[float, ...] = (0.0, 0.0, 0.0)
    std: tuple[float, ...] = (1.0, 1.0, 1.0)

    @property
    def dim(self) -> int:
        return SIDE * SIDE * 3

    def embed(self, clips: Clips) -> Vectors:
        edge = np.arange(SIDE) * self.size // SIDE
        x = self.normalise(clips).mean(1)  # [N, H, W, 3]
        for axis in (1, 2):
            widths = np.diff([*edge, self.size]).astype(np.float32).reshape([-1 if a == axis else 1 for a in range(4)])
            x = np.add.reduceat(x, edge, axis=axis) / widths
        vectors: Vectors = x.reshape(len(x), -1).astype(np.float32)
        return vectors
