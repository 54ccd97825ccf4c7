"""Caption items as places in a list of sentences: a sentence of many items is processed once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabula.text._check import check_pairs

Numbers = NDArray[np.int64]
MOST = 1 << 15  # sentences of one list, from which on another is begun


class Texts(list[str]):
    """Distinct sentences by their place, to which others may be added; what a kernel calls them is kept with them."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[str, int] = {}
        self.rows: object = None  # the kernel's sentences of which `numbers` speak
        self.numbers = np.zeros(0, np.int64)

    def place(self, text: str) -> int:
        """Where this sentence stands; a new one is added."""
        found = self.places.setdefault(text, len(self))
        if found == len(self):
            self.append(text)
        return found

    def place_all(self, texts: Sequence[str]) -> Iterator[int]:
        """`place` of each."""
        new = [text for text in dict.fromkeys(texts) if text not in self.places]
        self.places.update(zip(new, range(len(self), len(self) + len(new)), strict=True))
        self.extend(new)
        return map(self.places.__getitem__, texts)


class Tokens(Mapping[str, str]):
    """Sentences as they are written → their tokens, and these as places in one list."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self.table = table
        self.texts = Texts()
        self.places: dict[str, int] = {}  # of the tokens of a sentence

    def __getitem__(self, sentence: str) -> str:
        return self.table[sentence]

    def __iter__(self) -> Iterator[str]:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.table)

    def place_all(self, *sides: Sequence[str]) -> tuple[Texts, list[Numbers]]:
        """A list with the tokens of all these sentences, and their places in it; after so many, another list."""
        if len(self.texts) > MOST:
            self.texts, self.places = Texts(), {}
        new = [sentence for sentence in dict.fromkeys(chain.from_iterable(sides)) if sentence not in self.places]
        self.places.update(zip(new, self.texts.place_all([self.table[sentence] for sentence in new]), strict=True))
        find = self.places.__getitem__
        return self.texts, [np.fromiter(map(find, side), np.int64, len(side)) for side in sides]


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
