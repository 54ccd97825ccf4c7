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

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fabula.core.means import add_up, mean
from fabula.core.nouns import Story
from fabula.core.rows import CROWDED
from fabula.core.spec import show
from fabula.metrics.base import Array, Row, once
from fabula.metrics.stories._families.meetings import GARBAGE, Meetings, letters
from fabula.metrics.stories.base import Pair as StoryPair
from fabula.metrics.stories.base import Stories, StoryMetric, Tokens
from fabula.pair.strips import strips

Pair = tuple[str, str]  # candidate, reference; both tokenised
Mask = NDArray[np.bool_]
PAIRS = 1 << 16  # of captions, scored or parsed at a time: about a kilobyte each


@dataclass(frozen=True, kw_only=True)
class Localised(StoryMetric):
    """Base: a subclass scores the pairs of one video, and those of many videos at once to the same digits."""

    paper: ClassVar[str] = "Krishna et al., ICCV 2017"
    tasks: ClassVar[tuple[str, ...]] = ("dense",)
    at: ClassVar[str | None] = "tiou"
    portion: ClassVar[int | None] = PAIRS
    below_one: ClassVar[str] = "where events overlap, a caption is compared with those of the others too"
    rules: ClassVar[Mapping[str, str]] = {
        "garbage=zero": "a prediction that overlaps nothing scores 0",
        "garbage=abc": "a prediction that overlaps nothing is compared with abc123!@#",
        "garbage=random": "a prediction that overlaps nothing is compared with random letters",
        "garbage=last": "of the predictions that overlap nothing at most the last one counts",
        "top=none": "all predictions count",
        "top": "only the first {} predictions of a video count",
        "nonascii=keep": "non-ASCII characters stay",
        "nonascii=blank": "non-ASCII characters become blanks",
        "cmp=>": "the overlap must exceed τ",
        "cmp=>=": "the overlap must reach τ",
    }
    late: ClassVar[frozenset[str]] = frozenset({"cmp"})

    tiou: tuple[float, ...] = (0.3, 0.5, 0.7, 0.9)
    garbage: Literal["zero", "abc", "random", "last"] = "zero"
    top: int | None = None  # only the first N predictions of the file count
    tok: Literal["ptb", "none"] = "ptb"
    nonascii: Literal["keep", "blank"] = "keep"
    cmp: Literal[">=", ">"] = ">="

    @abstractmethod
    def video(self, pairs: CaptionPairs, lost: int, ctx: Any) -> float:
        """The score of one video at one τ: its pairs, and how many predictions count as 0 besides."""

    def videos(self, met: Meetings, ctx: Any) -> list[Array]:
        """`video` of many at each τ, [N] each; who does not say how scores each video by itself."""
        raise NotImplementedError(f"{self.name} scores each video by itself")

    def crowded(self, met: Meetings) -> Array | None:
        """How many distinct pairs of each video are beyond the scorer; None: there is none. [N]"""
        return None

    def prepare(self, data: Stories) -> Any:
        return data.tokens(self.tok, self.nonascii == "blank")

    def unit(self, ref: Story, pred: Story, ctx: Any) -> Row:
        row: Row = {}
        for tau in self.tiou:
            pairs, lost = self.caption_pairs(ref, pred, tau, self.tokens(ctx))
            row[f"value@{show(tau)}"] = self.video(pairs, lost, ctx) if pairs or lost else 0.0
        return {"value": mean(list(row.values())), **row}

    def many(self, pairs: Sequence[StoryPair], ctx: Any) -> Mapping[str, Array] | None:
        if type(self).videos is Localised.videos:
            return None
        met = self.meet(pairs, ctx)
        values, crowded = self.videos(met, ctx), self.crowded(met)
        columns = {"value": add_up(values) / len(values)} | {
            f"value@{show(tau)}": value for tau, value in zip(self.tiou, values, strict=True)
        }
        return columns if crowded is None else columns | {CROWDED: crowded}

    def meet(self, pairs: Sequence[StoryPair], ctx: Any) -> Meetings:
        """Which captions meet; metrics whose rules for that agree share it."""
        grid, words = self.grid(pairs), (self.tok, self.nonascii)
        rules = (Meetings, self.tiou, self.garbage, self.eps, self.segments, self.cmp, words)

        def make() -> Meetings:
            iou = self.ious(grid)
            return Meetings.of(grid, [self.meets(iou, tau) for tau in self.tiou], self.garbage, self.tokens(ctx))

        found: Meetings = once(pairs, rules, make)
        return found

    def meets(self, iou: Array, tau: float) -> Mask:
        """Where an overlap is large enough."""
        return iou >= tau if self.cmp == ">=" else iou > tau

    def tokens(self, ctx: Any) -> Tokens:
        found: Tokens = ctx
        return found

    def caption_pairs(self, ref: Story, pred: Story, tau: float, tokens: Tokens) -> tuple[CaptionPairs, int]:
        """The pairs of one video in the order of the predictions, and the number of predictions that score 0."""
        pairs = Walk(self, ref, pred, tau, tokens)
        return (pairs if len(pairs) > PAIRS else list(pairs)), pairs.lost


class Walk:
    """The pairs of one video at one τ, made anew whenever they are walked through: there may be millions."""

    def __init__(self, metric: Localised, ref: Story, pred: Story, tau: float, tokens: Tokens) -> None:
        self.metric, self.ref, self.pred, self.tau, self.tokens = metric, ref, pred, tau, tokens
        self.kept: list[tuple[Story, Mask]] = []  # one strip is kept, more are made again
        found: list[NDArray[np.int64]] = []
        for some, hit in self.strips():
            self.kept = [] if found else [(some, hit)]
            found.append(hit.sum(axis=0))
        overlaps = np.concatenate(found)  # [P]
        alone = int(np.count_nonzero(overlaps == 0))
        self.lost = alone if metric.garbage == "zero" else 0
        if metric.garbage == "last":  # only the last prediction of all, if it overlaps nothing
            alone = int(len(overlaps) > 0 and overlaps[-1] == 0)
        self.size = int(overlaps.sum()) + (0 if metric.garbage == "zero" else alone)

    def __len__(self) -> int:
        return self.size

    def strips(self) -> Iterator[tuple[Story, Mask]]:
        """Predictions, some at a time, and which references each overlaps by τ. [G, p]"""
        if self.kept:
            yield from self.kept
            return
        for some in strips(self.pred, self.ref):
            yield some, self.metric.meets(self.metric.iou(self.ref, some), self.tau)

    def __iter__(self) -> Iterator[Pair]:
        gold, garbage, made = [self.tokens[c] for c in self.ref.captions], self.metric.garbage, 0
        trailing: Pair | None = None
        for some, hit in self.strips():
            columns, rows = np.nonzero(hit.T)
            starts = np.searchsorted(columns, np.arange(len(some) + 1)).tolist()
            for caption, (start, end) in zip(some.captions, pairwise(starts), strict=True):
                candidate, found = self.tokens[caption], rows[start:end].tolist()
                for i in found:
                    yield candidate, gold[i]
                made += len(found)
                if found:
                    trailing = None
                elif garbage == "last":
                    trailing = (candidate, GARBAGE)
                elif garbage != "zero":
                    yield candidate, GARBAGE if garbage == "abc" else letters(made)
                    made += 1
        if trailing:
            yield trailing


def chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """So many pairs at a time that what is known of each fits."""
    walk = iter(pairs)
    while some := list(islice(walk, PAIRS)):
        yield some


CaptionPairs = list[Pair] | Walk  # of one video at one τ
