"""Caption items as places in a list of sentences: a sentence of many items is processed once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabula.text._check import check_pairs

Numbers = NDArray[np.int64]


class Pairs(NamedTuple):
    """Candidates and their references."""

    texts: list[str]  # [T]
    candidates: Numbers  # [K] places among the texts
    references: Numbers  # [R] the same; of candidate k those from starts[k] to starts[k + 1]
    starts: Numbers  # [K + 1]

    @classmethod
    def of(cls, texts: list[str], candidates: Numbers, references: Numbers) -> Pairs:
        """With one reference each."""
        return cls(texts, candidates, references, np.arange(len(candidates) + 1))

    @classmethod
    def lay(cls, candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Pairs:
        """Any items, checked."""
        check_pairs(candidates, references)
        flat, starts = lay_flat(references)
        texts = list(dict.fromkeys(chain(candidates, flat)))
        place = dict(zip(texts, range(len(texts)), strict=True)).__getitem__
        c, r = (np.fromiter(map(place, side), np.int64, len(side)) for side in (candidates, flat))
        return cls(texts, c, r, starts)

    def items(self) -> tuple[list[str], list[list[str]]]:
        """Candidates, and their lists of references."""
        flat = [self.texts[r] for r in self.references.tolist()]
        bounds = pairwise(self.starts.tolist())
        return [self.texts[c] for c in self.candidates.tolist()], [flat[start:end] for start, end in bounds]


def lay_flat(references: Sequence[Sequence[str]]) -> tuple[list[str], Numbers]:
    """The references of all items in one list, and where those of each item begin. [R], [K + 1]"""
    starts = np.fromiter(accumulate(map(len, references), initial=0), np.int64, len(references) + 1)
    return list(chain.from_iterable(references)), starts
