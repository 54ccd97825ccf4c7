"""SODA, story-oriented dense video captioning evaluation (Fujita et al., ECCV 2020): what its four variants share.

S = Σ_{(g,p) matched} score(g, p)     matching: one-to-one, in order, the largest sum of C (match/ordered.py)
Precision = S/|P|    Recall = S/|G|    F1 = 2PR/(P+R)        per video, then the mean over videos of each

variant   C                      score(g, p)
a         IoU, 0 below τ         caption score        mean over τ ∈ {.3, .5, .7, .9}
b         IoU                    caption score
c         IoU × caption score    C
d         IoU                    C
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from fabula.core.means import f1, f1_of
from fabula.core.nouns import Story
from fabula.core.rows import CROWDED
from fabula.match import Pairs
from fabula.match.ordered import MarkedRows, OrderedRows, PathRows, fill_between, marked_many, ordered_many
from fabula.metrics.base import Array, Row
from fabula.metrics.stories.base import Match, Pair, Stories, StoryMetric, portioned, prf_row
from fabula.pair.captions import Captions, Counts, Roles, Strips
from fabula.pair.grid import Cells, Grid, Mask
from fabula.pair.strips import is_large, part, strips

OrderedRowsT = TypeVar("OrderedRowsT", bound=OrderedRows)
PAPER = "Fujita et al., ECCV 2020"


@dataclass(frozen=True, kw_only=True)
class Soda(StoryMetric):
    """Precision, recall and F1 of a sum S over ordered one-to-one pairs."""

    paper: ClassVar[str] = PAPER
    fields: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1")
    primary: ClassVar[str] = "f1"
    draws: ClassVar[str] = "pairs"
    below_one: ClassVar[str] = ""
    factors: ClassVar[bool] = False  # True where S is the sum of the very matrix that is matched: diagnosis/factors.py
    reads_cells: ClassVar[bool] = False  # True where captions decide the matching: they are scored for every cell

    def unit(self, ref: Story, pred: Story, ctx: Any) -> Row:
        """Strip by strip: one video may have millions of cells."""
        words = self.within(ref, pred, ctx)
        row = self.prf(ref, pred, self.matched_strips(ref, pred, words))
        return tell_crowded(row, 0 if words is None else words.crowded)

    def many(self, pairs: Sequence[Pair], ctx: Any) -> dict[str, Array]:
        grid = self.grid(pairs)
        columns = self.prf_columns(grid, self.matched(grid, ctx))
        return with_crowded(columns, self.crowded(ctx))

    def matched(self, grid: Grid, ctx: Any) -> Array:
        """S of every pair of stories. [N]"""
        raise NotImplementedError(f"{self.name} does not say what S is")

    def matched_strips(self, ref: Story, pred: Story, words: Strips | None) -> float:
        """S of two stories with very many events: where it is the sum of C, the value is all that is asked for."""
        return self.fill(OrderedRows(len(pred)), ref, pred, words).value

    def fill(self, rows: OrderedRowsT, ref: Story, pred: Story, words: Strips | None) -> OrderedRowsT:
        """C handed to a matching, some references at a time."""
        start = 0
        for some in strips(ref, pred):
            iou = self.iou(some, pred)
            text = None if words is None or not self.reads_cells else words.rows(start, iou != 0)
            rows.add(self.matched_cells(iou, text))
            start += len(some)
        return rows

    def within(self, ref: Story, pred: Story, ctx: Any) -> Strips | None:
        """Caption scores of two stories; None where captions are not read."""
        return None

    def crowded(self, ctx: Any) -> Counts | None:
        """How many pairs of each video the caption scorer could not score, of the last `matched`. [N]"""
        return None

    def matches(self, pairs: Sequence[Pair], ctx: Any) -> list[list[Match]]:
        """The pairs of the best ordered matching, and besides them those that cost it nothing.

        A pair that overlaps but shares no word adds nothing to S; it is kept where it fits between the others, so that
        an event told in wrong words is not taken for a missed one.
        """
        found: list[list[Match]] = []
        for some in portioned(pairs):
            found += self.strip_matches(*some[0], ctx) if is_large(*some[0]) else self.grid_matches(some, ctx)
        return found

    def grid_matches(self, pairs: Sequence[Pair], ctx: Any) -> list[list[Match]]:
        grid = self.grid(pairs)
        iou = self.ious(grid)
        text = self.caption_cells(grid, ctx, iou != 0)
        chosen = fill_between(self.matched_cells(iou, text), iou, grid.shapes)
        return list_matches(grid, chosen, iou, text)

    def strip_matches(self, ref: Story, pred: Story, ctx: Any) -> list[list[Match]]:
        words = self.within(ref, pred, ctx)
        own = self.fill(PathRows(len(ref), len(pred)), ref, pred, words).pairs()
        chosen: Pairs = []
        for (i, j), (k, m) in pairwise([(-1, -1), *own, (len(ref), len(pred))]):
            chosen += [(i, j)] if i >= 0 else []
            rows, columns = part(ref, i + 1, k), part(pred, j + 1, m)
            if len(rows) and len(columns):
                between = PathRows(len(rows), len(columns))
                for some in strips(rows, columns):
                    between.add(self.iou(some, columns))
                chosen += [(i + 1 + di, j + 1 + dj) for di, dj in between.pairs()]
        return [self.tell_matches(ref, pred, chosen, words)]

    def tell_matches(self, ref: Story, pred: Story, chosen: Pairs, words: Strips | None) -> list[Match]:
        """Single cells of two stories, with their IoU and caption scores."""
        text = [None] * len(chosen) if words is None else words.at(chosen)
        of = [float(self.iou(part(ref, i, i + 1), part(pred, j, j + 1))[0, 0]) for i, j in chosen]
        return [Match(i, j, iou, word) for (i, j), iou, word in zip(chosen, of, text, strict=True)]

    def caption_cells(self, grid: Grid, ctx: Any, wanted: Mask) -> Cells | None:
        """Caption scores of the wanted cells; None where captions are not read. [C]"""
        return None

    def matched_cells(self, iou: Cells, text: Cells | None) -> Cells:
        """C: what the ordered matching maximises the sum of. [C]"""
        return iou

    def prf(self, ref: Story, pred: Story, S: float) -> Row:
        precision, recall = (S / len(pred), S / len(ref)) if len(pred) else (0.0, 0.0)
        return prf_row(ref, pred, S, precision, recall, f1(precision, recall))

    def prf_columns(self, grid: Grid, S: Array) -> dict[str, Array]:
        """`prf` of all pairs of stories. [N] each"""
        G, P = grid.shapes.T.astype(np.float64)
        precision = np.divide(S, P, out=np.zeros(len(S)), where=P > 0)
        recall = np.divide(S, G, out=np.zeros(len(S)), where=P > 0)
        f1 = f1_of(precision, recall)
        return {"precision": precision, "recall": recall, "f1": f1, "S": S, "n_ref": G, "n_pred": P}


def add_in_order(values: Sequence[float]) -> float:
    """The sum that `Grid.sum` makes, one after the other."""
    return float(np.add.accumulate(values)[-1]) if values else 0.0


def tell_crowded(row: Row, crowded: int) -> Row:
    """How many pairs count as 0 because they are beyond the scorer, where there are any."""
    return row | {CROWDED: float(crowded)} if crowded else row


def with_crowded(columns: dict[str, Array], crowded: Counts | None) -> dict[str, Array]:
    """The same for many videos."""
    return columns | {CROWDED: crowded.astype(np.float64)} if crowded is not None and crowded.any() else columns


def list_matches(grid: Grid, chosen: Mask, iou: Cells, text: Cells | None) -> list[list[Match]]:
    """The chosen cells of every pair of stories, row by row."""
    found: list[list[Match]] = [[] for _ in range(len(grid))]
    at = np.flatnonzero(chosen)
    words = [None] * len(at) if text is None else text[at].tolist()
    columns = (grid.pair[at].tolist(), grid.row[at].tolist(), grid.column[at].tolist(), iou[at].tolist(), words)
    for n, *match in zip(*columns, strict=True):
        found[n].append(Match(*match))
    return found


@dataclass(frozen=True, kw_only=True)
class CaptionSoda(Soda):
    """A variant that reads captions.

    roles: the published evaluator hands its scorer the two sides exchanged, so that the gold sentence is the
    hypothesis; METEOR is not symmetric, and rankings flip. The default is the right way round.
    columns: three copies of the evaluator name predictions by strings and score them in the order of sorted names, so
    that from 11 predictions on captions are compared at the wrong place.
    """

    tasks: ClassVar[tuple[str, ...]] = ("dense",)
    rules: ClassVar[Mapping[str, str]] = {
        "text": "captions are compared by {}",
        "roles=prediction-as-hypothesis": "the prediction is the scorer's hypothesis",
        "roles=gold-as-hypothesis": "the scorer's sides are exchanged: the gold sentence is the hypothesis",
        "tok=ptb": "captions are tokenised and lower-cased",
        "tok=none": "captions are compared as they are written",
        "columns=index": "caption scores stand in their own columns",
        "columns=sorted": "from 11 predictions on, caption scores stand in the wrong columns",
        "nonascii=keep": "non-ASCII characters stay",
        "nonascii=blank": "non-ASCII characters become blanks",
    }

    text: str = "meteor"
    roles: Roles = "prediction-as-hypothesis"
    tok: Literal["ptb", "none"] = "ptb"
    nonascii: Literal["keep", "blank"] = "keep"  # blank: every non-ASCII character becomes a blank before tokenising
    columns: Literal["index", "sorted"] = "index"  # sorted: the caption scores of prediction 0, 1, 10, 11, 2, …

    def __post_init__(self) -> None:
        """A judge reads captions as they are written."""
        super().__post_init__()
        if self.asks:
            object.__setattr__(self, "tok", "none")

    def captions(self) -> Captions:
        """The scorer, bound to this metric's tokeniser and roles."""
        return Captions(self.text, self.roles, self.tok, self.nonascii == "blank", self.columns == "sorted")

    def prepare(self, data: Stories) -> Captions:
        captions = self.captions()
        captions.tokens = data.tokens(self.tok, self.nonascii == "blank")
        return captions

    def caption_cells(self, grid: Grid, ctx: Captions, wanted: Mask) -> Cells:
        return ctx.scores(grid, wanted)

    def within(self, ref: Story, pred: Story, ctx: Captions) -> Strips:
        return ctx.within(ref, pred)

    def crowded(self, ctx: Captions) -> Counts:
        return ctx.crowded

    def about(self) -> Mapping[str, str]:
        return self.captions().about()

    @property
    def leans_on(self) -> frozenset[str]:
        """By name alone: an encoder that is not here can still be cited."""
        return frozenset([self.captions().scorer.name])


@dataclass(frozen=True, kw_only=True)
class PairSoda(CaptionSoda):
    """a and b: captions are summed over pairs that IoU chose, so it matters how pairs are read off the table.

    backtrack: exact follows the best path; marked is what the published code does (match/ordered.marked_pairs).
    """

    rules: ClassVar[Mapping[str, str]] = {
        "backtrack=exact": "pairs follow the best path",
        "backtrack=marked": "pairs are read off marks, not along the best path",
    }

    backtrack: Literal["exact", "marked"] = "exact"

    def choose(self, C: Cells, grid: Grid) -> Mask:
        """Which cells are pairs. [C]"""
        if self.backtrack == "marked":
            return marked_many(C, grid.shapes)
        return ordered_many(C, grid.shapes)[1]

    def choose_strips(self, ref: Story, pred: Story, tau: float = 0.0) -> Pairs:
        """The same of two stories with very many events; IoU below τ is none."""
        rows = (MarkedRows if self.backtrack == "marked" else PathRows)(len(ref), len(pred))
        for some in strips(ref, pred):
            iou = self.iou(some, pred)
            rows.add(np.where(iou >= tau, iou, 0.0))
        return rows.pairs()

    def matched_strips(self, ref: Story, pred: Story, words: Strips | None) -> float:
        assert words is not None
        return add_in_order(words.at(self.choose_strips(ref, pred)))

    def strip_matches(self, ref: Story, pred: Story, ctx: Captions) -> list[list[Match]]:
        return [self.tell_matches(ref, pred, self.choose_strips(ref, pred), self.within(ref, pred, ctx))]

    def grid_matches(self, pairs: Sequence[Pair], ctx: Captions) -> list[list[Match]]:
        """The very pairs that are summed: IoU chose them, so that words in common or not make no difference."""
        grid = self.grid(pairs)
        iou = self.ious(grid)
        chosen = self.choose(iou, grid)
        return list_matches(grid, chosen, iou, self.caption_cells(grid, ctx, chosen))
