"""What a caption scorer offers to the rooms behind: a score for every candidate with every single reference."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from fabula.text.placed import Pairs

Block = tuple[Sequence[str], Sequence[str]]  # candidates, references
Wanted = NDArray[np.bool_]  # a flag per pair, block by block, row by row


class Scorer(Protocol):
    """A module of this package that SODA can use has `SCORER`, an object of this shape."""

    name: str  # as in `SODA_c(text=name)`
    alone: bool = True  # False where a pair's score depends on the other references given with it

    @property
    def version(self) -> str:
        """What the signature says of it; an attribute will do."""

    def pairs(self, candidates: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
        """Tokenised sentences → scores. [len(candidates), len(references)]"""

    def pairs_many(self, blocks: Sequence[Block], wanted: Wanted | None = None) -> list[NDArray[np.float64]]:
        """`pairs` of many (candidates, references) at once; what is not `wanted` need not be scored and may be 0.

        NaN stands for a pair that the scorer cannot score in any time: the caller counts it as 0, and says so.
        """

    def within(self, references: Sequence[str]) -> Scorer:
        """The scorer whose pairs are part of a larger matrix with these references: the same where it is `alone`."""


@runtime_checkable
class PlacedScorer(Protocol):
    """A scorer that takes single pairs by the places of their sentences, too."""

    def score_places(self, pairs: Pairs) -> NDArray[np.float64]:
        """`pairs_many` of items with one reference each. [K]"""


class OneByOne:
    """`pairs_many` for a scorer that gains nothing from seeing many blocks together."""

    name: str
    alone = True

    @property
    def version(self) -> str:
        """What the signature says of it; a scorer that is the same for all has it as an attribute."""
        raise NotImplementedError

    @abstractmethod
    def pairs(self, candidates: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]: ...

    def pairs_many(self, blocks: Sequence[Block], wanted: Wanted | None = None) -> list[NDArray[np.float64]]:
        return [self.pairs(candidates, references) for candidates, references in blocks]

    def within(self, references: Sequence[str]) -> Scorer:
        return self
