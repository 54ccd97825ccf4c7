"""Captions that meet where segments overlap by τ (Krishna et al., ICCV 2017): of many videos and all τ at once.

Every prediction with every reference that it overlaps, in arrays. A pair of sentences that meets at several τ, or in
several videos, stands in `pairs` once, and is scored once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from fabula.pair.grid import Grid, Index, Mask
from fabula.text.placed import Pairs, Texts, Tokens

T = TypeVar("T")
GARBAGE = "abc123!@#"  # one token for the tokeniser, four words for METEOR


def letters(n: int) -> str:
    """A word of ten letters that no caption holds, another for each n."""
    return "qzxj" + "".join(chr(ord("a") + n // 26**k % 26) for k in range(6))


@dataclass(frozen=True, slots=True)
class OverlapPairs:
    """N videos: distinct pairs, and for each τ which of them meet, video by video, in the order of the predictions."""

    pairs: Pairs  # [D] tokenised
    at: list[Index]  # for each τ: places among the pairs [K]
    whose: list[Index]  # for each τ: the video of each, ascending [K]
    lost: list[Index]  # for each τ: predictions that count as 0 besides [N]
    cache: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)  # what metrics made of it

    def once(self, key: str, make: Callable[[], T]) -> T:
        """What is made of these meetings, shared by all who need it."""
        if key not in self.cache:
            self.cache[key] = make()
        found: T = self.cache[key]
        return found

    @classmethod
    def of(
        cls,
        grid: Grid,
        hits: Sequence[Mask],
        garbage: str,
        tokens: Tokens,
        before: Sequence[int] | Index = (),
        is_last: bool = True,
    ) -> OverlapPairs:
        """`hits`: for each τ, which cells overlap enough. [C]

        Of one video in parts: `before`, how many pairs the parts before this one have at each τ; `is_last`, if it is
        the last.
        """
        _, texts, gold, predicted = grid.place_captions(tokens)  # [ΣG], [ΣP]
        owner = grid.owners(1)  # [ΣP]
        turned = np.empty(len(grid.gold), np.int64)
        turned[grid.turned()] = np.arange(len(turned))  # the cells prediction by prediction
        g, p = grid.gold[turned], grid.guess[turned]
        meeting, whose, lost = [], [], []
        for k, hit in enumerate(hits):
            hit = hit[turned]
            alone = np.bincount(p[hit], minlength=len(predicted)) == 0  # [ΣP]
            lost.append(np.bincount(owner[alone & (garbage == "zero")], minlength=len(grid)))
            if garbage == "zero":
                alone[:] = False
            elif garbage == "last":  # only the last prediction of all, if it overlaps nothing
                alone[:-1] &= owner[1:] != owner[:-1]
                alone &= is_last
            extra = np.flatnonzero(alone)
            guess = np.concatenate([p[hit], extra])
            order = np.argsort(guess, kind="stable")
            guess, other = guess[order], np.concatenate([gold[g[hit]], np.full(len(extra), -1)])[order]
            videos = owner[guess]
            name_garbage(other, videos, garbage, texts, before[k] if len(before) else 0)
            meeting.append(predicted[guess] * 2**32 + other)
            whose.append(videos)
        distinct, places = np.unique(np.concatenate(meeting), return_inverse=True)
        ends = np.cumsum([len(keys) for keys in meeting])[:-1]
        return cls(Pairs.of(texts, distinct >> 32, distinct & 0xFFFFFFFF), np.split(places, ends), whose, lost)

    def counts(self, k: int) -> Index:
        """How many pairs each video has at the k-th τ. [N]"""
        return np.bincount(self.whose[k], minlength=len(self.lost[k]))

    def name_pairs(self, marked: Mask) -> set[tuple[int, str, str]]:
        """The marked pairs [D] of each video at any τ: video, candidate, reference."""
        at, whose = np.concatenate(self.at), np.concatenate(self.whose)
        places = at[marked[at]]
        sides = (self.pairs.candidates[places].tolist(), self.pairs.references[places].tolist())
        texts = self.pairs.texts
        return {(n, texts[c], texts[r]) for n, c, r in zip(whose[marked[at]].tolist(), *sides, strict=True)}


def name_garbage(other: Index, videos: Index, garbage: str, texts: Texts, before: int) -> None:
    """What predictions that overlap nothing (−1) are compared with: always the same, or letters by their place."""
    at = np.flatnonzero(other < 0)
    if garbage != "random":
        other[at] = texts.place(GARBAGE) if len(at) else -1
        return
    first = np.searchsorted(videos, videos[at])
    named, turn = np.unique(at - first + before, return_inverse=True)
    other[at] = np.array([texts.place(letters(n)) for n in named.tolist()], np.int64)[turn]
