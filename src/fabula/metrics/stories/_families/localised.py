"""Caption metrics of dense video captioning (Krishna et al., ICCV 2017): captions are compared where segments overlap.

For each overlap τ: every prediction is paired with every reference event it overlaps, IoU ≥ τ (one to many, both ways);
the pairs of a video are scored together; mean over videos, then over τ.

What becomes of a prediction that overlaps nothing is the rule that moved published numbers most:

cmp      >=: the overlap must reach τ · >: exceed it, so that at τ = 0 segments that touch do not meet (SoccerNet)
garbage  zero:   it scores 0, whatever the metric (ours)
         abc:    it is compared with the text `abc123!@#` (densevid_eval 2018)
         random: it is compared with random letters (densevid_eval 2019); here letters fixed by its place
         last:   only the last such prediction counts, and only if no match follows it (the 2017 rule)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fabula.core.means import add_up
from fabula.core.rows import CROWDED
from fabula.core.spec import show
from fabula.metrics.base import Array, once
from fabula.metrics.stories._families.overlap_pairs import OverlapPairs
from fabula.metrics.stories.base import TOP_RULE, Pair, Stories, StoryMetric
from fabula.pair.grid import Grid, Index, Mask
from fabula.pair.strips import is_large, strips
from fabula.text.placed import Tokens

Numbers = NDArray[Any]  # counts or scores
PAIRS = 1 << 16  # of captions, scored or parsed at a time: about a kilobyte each


@dataclass(frozen=True, kw_only=True)
class Localised(StoryMetric):
    """Lifts a measure of two captions to stories: a subclass says what is known of a pair, and what sums are worth."""

    paper: ClassVar[str] = "Krishna et al., ICCV 2017"
    tasks: ClassVar[tuple[str, ...]] = ("dense",)
    at: ClassVar[str | None] = "tiou"
    portion: ClassVar[int | None] = PAIRS
    perfect_score: ClassVar[str] = "where events overlap, a caption is compared with those of the others too"
    rules: ClassVar[Mapping[str, str]] = {
        "garbage=zero": "a prediction that overlaps nothing scores 0",
        "garbage=abc": "a prediction that overlaps nothing is compared with abc123!@#",
        "garbage=random": "a prediction that overlaps nothing is compared with random letters",
        "garbage=last": "of the predictions that overlap nothing at most the last one counts",
        "top=none": "all predictions count",
        "top": TOP_RULE,
        "nonascii=keep": "non-ASCII characters stay",
        "nonascii=blank": "non-ASCII characters become blanks",
        "cmp=>": "the overlap must exceed τ",
        "cmp=>=": "the overlap must reach τ",
    }
    late: ClassVar[frozenset[str]] = frozenset({"cmp"})

    tiou: tuple[float, ...] = (0.3, 0.5, 0.7, 0.9)
    garbage: Literal["zero", "abc", "random", "last"] = "zero"
    top: int | None = None  # only N predictions count: the most confident with order=time, else the first of the file
    tok: Literal["ptb", "none"] = "ptb"
    nonascii: Literal["keep", "blank"] = "keep"
    cmp: Literal[">=", ">"] = ">="

    def statistics(self, overlaps: OverlapPairs, ctx: Any) -> Numbers:
        """What is known of each distinct pair, and summed over the pairs of a video: its score, or counts. [D, S]"""
        raise NotImplementedError(f"{self.name} does not say what a pair of captions is worth")

    def each(self, overlaps: OverlapPairs, ctx: Any) -> list[Numbers]:
        """The same of each pair that meets at each τ. [K, S] each"""
        found = self.statistics(overlaps, ctx)
        return [found[at] for at in overlaps.at]

    def value(self, sums: Numbers, pairs: Index, lost: Index) -> Array:
        """The score of each video at one τ: its sums, how many pairs it has, how many predictions count as 0. [N]"""
        return divide(sums[:, 0], pairs + lost)

    def beyond(self, overlaps: OverlapPairs) -> Mask | None:
        """Which distinct pairs are beyond the scorer; None: it does not count them. [D]"""
        return None

    def prepare(self, data: Stories) -> Any:
        return data.tokens(self.tok, self.nonascii == "blank")

    def many(self, pairs: Sequence[Pair], ctx: Any) -> dict[str, Array]:
        counts, lost = np.zeros((2, len(self.tiou), len(pairs)), np.int64)
        sums: list[Numbers] = []
        beyond: set[tuple[int, str, str]] = set()
        for overlaps in self.overlapping(pairs, ctx):
            each = self.each(overlaps, ctx)
            sums = sums or [np.zeros((len(pairs), of.shape[1]), of.dtype) for of in each]
            for k, of in enumerate(each):
                add_rows(sums[k], overlaps.whose[k], of)
                counts[k] += overlaps.counts(k)
                lost[k] += overlaps.lost[k]
            if (marked := self.beyond(overlaps)) is not None:
                beyond |= overlaps.name_pairs(marked)
        values = [self.value(*of) for of in zip(sums, counts, lost, strict=True)]
        columns = {"value": add_up(values) / len(values)} | {
            f"value@{show(tau)}": value for tau, value in zip(self.tiou, values, strict=True)
        }
        return columns | {CROWDED: count_videos(beyond, len(pairs))} if beyond else columns

    def overlapping(self, pairs: Sequence[Pair], ctx: Any) -> Iterator[OverlapPairs]:
        """Which captions meet, shared by metrics with the same rules; of a large video some predictions at a time."""
        ref, pred = pairs[0]
        if is_large(ref, pred, self.portion):
            before = np.zeros(len(self.tiou), np.int64)
            parts = list(strips(pred, ref, self.portion))
            for part in parts:
                overlaps = self.overlapping_in(Grid.of([(ref, part)]), ctx, before, part is parts[-1])
                before += [overlaps.counts(k)[0] for k in range(len(before))]
                yield overlaps
        else:
            grid, words = self.grid(pairs), (self.tok, self.nonascii)
            hits = self.hits(grid)
            # By which cells hit, not by the rules that made them hit: those of most evaluators agree.
            rules = (OverlapPairs, self.garbage, words, len(hits), np.packbits(hits).tobytes())
            yield once(pairs, rules, lambda: OverlapPairs.of(grid, hits, self.garbage, self.tokens(ctx)))

    def overlapping_in(self, grid: Grid, ctx: Any, before: Sequence[int] | Index, is_last: bool) -> OverlapPairs:
        return OverlapPairs.of(grid, self.hits(grid), self.garbage, self.tokens(ctx), before, is_last)

    def hits(self, grid: Grid) -> list[Mask]:
        """For each τ, which cells overlap enough. [C] each"""
        iou = self.ious(grid)
        return [iou >= tau if self.cmp == ">=" else iou > tau for tau in self.tiou]

    def tokens(self, ctx: Any) -> Tokens:
        found: Tokens = ctx
        return found


def divide(a: Array, b: Numbers) -> Array:
    """0 where b is 0."""
    found: Array = np.divide(a, b, out=np.zeros(len(a)), where=b > 0)
    return found


def count_videos(beyond: set[tuple[int, str, str]], videos: int) -> Array:
    return np.bincount([n for n, _, _ in beyond], minlength=videos).astype(np.float64)


def add_rows(sums: Numbers, owner: Index, rows: Numbers) -> None:
    """Adds each row [K, S] to the sums of its owner [N, S], owners ascending; floats one after the other."""
    if not len(rows):
        return
    if rows.dtype.kind == "i":  # exact in any order
        first = np.flatnonzero(np.diff(owner, prepend=-1))
        sums[owner[first]] += np.add.reduceat(rows, first)
        return
    places = np.concatenate([np.arange(len(sums)), owner])
    for column in range(rows.shape[1]):
        sums[:, column] = np.bincount(places, np.concatenate([sums[:, column], rows[:, column]]), len(sums))
