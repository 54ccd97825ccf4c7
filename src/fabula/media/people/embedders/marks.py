"""The hue of a painted mark as 24 numbers (detectors/marks.py): for tests and trials without weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fabula.media.base import Pictures
from fabula.media.people import base
from fabula.media.people.base import Floats, unit


@dataclass(frozen=True, kw_only=True)
class Embedder(base.Embedder):
    name = "marks"
    library = "none"
    licence: ClassVar[str] = "none: there are no weights"
    eps: ClassVar[float] = 0.3
    dim: ClassVar[int] = 24

    def weights_digest(self) -> str | None:
        return None

    def embed(self, faces: Pictures) -> Floats:
        """Bumps on the circle of hues around that of the face's middle."""
        middle = faces[:, 44:68, 44:68].reshape(len(faces), -1, 3).astype(np.float64).mean(1)  # [k, 3]
        r, g, b = middle.T
        hue = np.arctan2(np.sqrt(3) * (g - b), 2 * r - g - b)
        at = 2 * np.pi * np.arange(self.dim) / self.dim
        return unit(np.exp(4 * (np.cos(hue[:, None] - at) - 1)))
