"""What a caption scorer offers to the rooms behind: a score for every candidate with every single reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Scorer(Protocol):
    """A file of this room that can serve SODA has `SCORER`, an object of this shape."""

    name: str  # as in `SODA_c(text=name)`
    version: str  # what the signature says of it

    def pairs(self, candidates: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
        """Tokenised sentences → scores. [len(candidates), len(references)]"""
