"""Exact match: 1 where two tokenised captions are the same words, else 0."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fabula.text._scorer import OneByOne


class Exact(OneByOne):
    name = "exact"
    version = "1"

    def pairs(self, candidates: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
        return np.array([[float(c == r) for r in references] for c in candidates]).reshape(-1, len(references))


SCORER = Exact()
