"""Colours: the eleven basic colour words (Berlin & Kay, 1969) between pictures and queries. No weights, for trying out.

    picture    x_c = share of its pixels whose nearest colour is c        words    x_c = how often colour c is named

A query that names no colour is a vector of zeros: nothing is near to it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fabula.library.embedders import base
from fabula.library.embedders.base import Vectors

ANCHORS = {  # one or several points a colour, red, green, blue
    "black": [(0, 0, 0), (30, 30, 30)],
    "white": [(255, 255, 255), (235, 235, 235)],
    "red": [(255, 0, 0), (170, 10, 20)],
    "green": [(0, 200, 0), (20, 110, 30), (120, 200, 80)],
    "yellow": [(255, 255, 0), (230, 210, 40)],
    "blue": [(0, 0, 255), (20, 40, 130), (90, 160, 230)],
    "brown": [(120, 70, 20), (90, 50, 30), (160, 110, 70)],
    "pink": [(255, 170, 200), (250, 100, 170)],
    "orange": [(255, 140, 0), (230, 100, 30)],
    "purple": [(130, 0, 130), (160, 80, 200)],
    "grey": [(128, 128, 128), (90, 90, 90), (170, 170, 170)],
}
NAMES = tuple(ANCHORS)
SAME = {"gray": "grey", "violet": "purple", "golden": "yellow", "scarlet": "red", "navy": "blue", "dark": "black"}
WORD = re.compile(r"[a-z]+")


@dataclass(frozen=True, kw_only=True)
class Embedder(base.Embedder):
    """Pictures of 32 × 32 pixels are enough."""

    name = "colours"
    library = "none"
    about = "shares of eleven colours, against the colour words of the query; no weights"
    licence = "none: it has no weights"
    weak = "it knows eleven colour words and nothing else"
    text_tower = "the colour words themselves"

    resize: int = 32
    size: int = 32

    @property
    def dims(self) -> int:
        return len(NAMES)

    def embed(self, squares: NDArray[np.uint8]) -> Vectors:
        points = np.array([point for anchors in ANCHORS.values() for point in anchors], np.float32)  # [A, 3]
        whose = np.array([c for c, anchors in enumerate(ANCHORS.values()) for _ in anchors])
        x = squares.reshape(-1, 3).astype(np.float32)
        far = (points**2).sum(1) - 2 * x @ points.T  # squared distance less that of x to 0
        nearest = whose[far.argmin(1)].reshape(len(squares), -1)  # [N, pixels]
        shares: Vectors = (nearest[..., None] == np.arange(len(NAMES))).mean(1, dtype=np.float32)
        return shares

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), len(NAMES)), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in WORD.findall(text.lower()):
                if (colour := SAME.get(word, word)) in ANCHORS:
                    row[NAMES.index(colour)] += 1
        return vectors
