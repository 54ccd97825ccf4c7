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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from fabula.core.means import f1_of
from fabula.core.rows import CROWDED
from fabula.match.ordered import MarkedRows, OrderedRows, PathRows, fill_between, marked_many, ordered_many
from fabula.metrics.base import Array
from fabula.metrics.stories.base import Match, Pair, Stories, StoryMetric, portioned
from fabula.pair.captions import Captions, Counts, Roles
from fabula.pair.grid import Cells, Grid, Index, Mask
from fabula.pair.strips import is_large, strips

Score = Callable[[Cells, "Cells | None"], Cells]  # IoU, caption scores where they are read → C
OrderedRowsT = TypeVar("OrderedRowsT", bound=OrderedRows)
PAPER = "Fujita et al., ECCV 2020"


@dataclass(frozen=True, kw_only=True)
class Soda(StoryMetric):
    """Precision, recall and F1 of a sum S over ordered one-to-one pairs."""

    paper: ClassVar[str] = PAPER
    fields: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1")
    primary: ClassVar[str] = "f1"
    draws: ClassVar[str] = "pairs"
    perfect_score: ClassVar[str] = ""
    factors: ClassVar[bool] = False  # True where S is the sum of the very matrix that is matched: diagnosis/factors.py
    reads_cells: ClassVar[bool] = False  # True where captions decide the matching: they are scored for every cell

    def many(self, pairs: Sequence[Pair], ctx: Any) -> dict[str, Array]:
        sheet = Sheet(self, pairs, ctx)
        return self.add_crowded(self.prf(pairs, self.matched(sheet)), sheet)

    def matched(self, sheet: Sheet) -> Array:
        """S of every pair of stories: the value of the best ordered matching of C. [N]"""
        return sheet.value(self.matched_cells)

    def matched_cells(self, iou: Cells, text: Cells | None) -> Cells:
        """C: what the ordered matching maximises the sum of, cell by cell."""
        return iou

    def prf(self, pairs: Sequence[Pair], S: Array) -> dict[str, Array]:
        """[N] each"""
        G, P = self.sizes(pairs)
        precision = np.divide(S, P, out=np.zeros(len(S)), where=P > 0)
        recall = np.divide(S, G, out=np.zeros(len(S)), where=P > 0)
        f1 = f1_of(precision, recall)
        return {"precision": precision, "recall": recall, "f1": f1, "S": S, "n_ref": G, "n_pred": P}

    def add_crowded(self, columns: dict[str, Array], sheet: Sheet) -> dict[str, Array]:
        """How many pairs count as 0 because they are beyond the scorer, where there are any."""
        return columns | {CROWDED: sheet.crowded.astype(np.float64)} if sheet.crowded.any() else columns

    def matches(self, pairs: Sequence[Pair], ctx: Captions | None) -> list[list[Match]]:
        """The matched pairs of every pair of stories, row by row."""
        sheets = [Sheet(self, portion, ctx) for portion in portioned(pairs)]
        return [found for sheet in sheets for found in sheet.list_matches(self.choose(sheet))]

    def choose(self, sheet: Sheet) -> Index:
        """The pairs of the best ordered matching, and besides them those that cost it nothing.

        A pair that overlaps but shares no word adds nothing to S; it is kept where it fits between the others, so that
        an event told in wrong words is not taken for a missed one.
        """
        return sheet.fill_between(self.matched_cells)


class Sheet:
    """The cells of some pairs of stories, numbered row by row: all at once, or of a single large pair some rows a time.

    `ctx` scores captions; None where they are not read. `crowded`: of the last look at captions, how many pairs of each
    video the scorer could not score. [N]
    """

    def __init__(self, metric: Soda, pairs: Sequence[Pair], ctx: Captions | None) -> None:
        self.metric, self.pairs, self.ctx = metric, pairs, ctx
        (self.ref, self.pred), self.is_large = pairs[0], is_large(*pairs[0])
        self.crowded: Counts = np.zeros(len(pairs), np.int64)
        self.strips = ctx.within(self.ref, self.pred) if self.is_large and ctx is not None else None

    @cached_property
    def grid(self) -> Grid:
        return self.metric.grid(self.pairs)

    def scores(self, wanted: Mask) -> Cells:
        """Caption scores of the wanted cells, where all are at hand. [C]"""
        assert self.ctx is not None
        found = self.ctx.scores(self.grid, wanted)
        self.crowded = self.ctx.crowded
        return found

    def tiles(self, C: Score) -> Iterator[Cells]:
        """C of all cells [C], or of some rows of a large pair at a time. [R, P]"""
        reads = self.metric.reads_cells and self.ctx is not None
        if not self.is_large:
            iou = self.metric.ious(self.grid)
            yield C(iou, self.scores(iou != 0) if reads else None)  # where nothing overlaps, no caption is read
            return
        start = 0
        for rows in strips(self.ref, self.pred):
            iou = self.metric.iou(rows, self.pred)
            yield C(iou, self.strips.rows(start, iou != 0) if reads and self.strips else None)
            start += len(rows)
        if reads and self.strips:
            self.crowded = self.strips.take_crowded()

    def fill(self, rows: OrderedRowsT, C: Score) -> OrderedRowsT:
        """C of a large pair handed to a matching."""
        for tile in self.tiles(C):
            rows.add(tile)
        return rows

    def value(self, C: Score) -> Array:
        """The value of the best ordered matching of C. [N]"""
        if self.is_large:
            return np.array([self.fill(OrderedRows(len(self.pred)), C).value])
        return ordered_many(next(self.tiles(C)), self.grid.shapes)[0]

    def choose(self, C: Score, marked: bool = False) -> Index:
        """The cells that are pairs: of the best path, or read off marks."""
        if not self.is_large:
            cells, shapes = next(self.tiles(C)), self.grid.shapes
            return np.flatnonzero(marked_many(cells, shapes) if marked else ordered_many(cells, shapes)[1])
        rows = (MarkedRows if marked else PathRows)(len(self.ref), len(self.pred))
        return np.array([i * len(self.pred) + j for i, j in self.fill(rows, C).pairs()], np.int64)

    def fill_between(self, C: Score) -> Index:
        """The pairs of the best path of C, and between them those of IoU."""
        if not self.is_large:
            return np.flatnonzero(fill_between(next(self.tiles(C)), self.metric.ious(self.grid), self.grid.shapes))
        own = self.choose(C)
        G, P = len(self.ref), len(self.pred)
        corners = [(-1, -1), *zip(*(x.tolist() for x in np.divmod(own, P)), strict=True), (G, P)]
        chosen = own.tolist()
        for (i, j), (k, m) in pairwise(corners):
            rows, columns = self.ref.part(i + 1, k), self.pred.part(j + 1, m)
            if len(rows) and len(columns):
                between = Sheet(self.metric, [(rows, columns)], None).choose(lambda iou, text: iou)
                di, dj = np.divmod(between, len(columns))
                chosen += ((i + 1 + di) * P + j + 1 + dj).tolist()
        return np.array(sorted(chosen), np.int64)

    def place(self, cells: Index) -> tuple[Index, Index, Index]:
        """Which pair of stories, which reference and which prediction of it."""
        if self.is_large:
            return np.zeros_like(cells), *np.divmod(cells, len(self.pred))
        return self.grid.pair[cells], self.grid.row[cells], self.grid.column[cells]

    def ious(self, cells: Index) -> Cells:
        """Of single cells."""
        if not self.is_large:
            return self.metric.ious(self.grid)[cells]
        _, g, p = self.place(cells)
        return self.metric.overlaps(self.ref.spans[g], self.pred.spans[p])

    def texts(self, cells: Index) -> Cells:
        """Caption scores of single cells."""
        if self.strips is None:
            wanted = np.zeros(len(self.grid.pair), bool)
            wanted[cells] = True
            return self.scores(wanted)[cells]
        _, g, p = self.place(cells)
        found = np.array(self.strips.at(list(zip(g.tolist(), p.tolist(), strict=True))))
        self.crowded = self.strips.take_crowded()
        return found

    def sum(self, values: Cells, cells: Index) -> Array:
        """Per pair of stories the sum of the values of its cells, one after the other. [N]"""
        return np.bincount(self.place(cells)[0], values, len(self.pairs)).astype(np.float64)

    def list_matches(self, cells: Index) -> list[list[Match]]:
        """The chosen cells of every pair of stories."""
        found: list[list[Match]] = [[] for _ in self.pairs]
        words = [None] * len(cells) if self.ctx is None else self.texts(cells).tolist()
        columns = *(x.tolist() for x in (*self.place(cells), self.ious(cells))), words
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
        if self.uses_llm:
            object.__setattr__(self, "tok", "none")

    def captions(self) -> Captions:
        """The scorer, bound to this metric's tokeniser and roles."""
        return Captions(self.text, self.roles, self.tok, self.nonascii == "blank", self.columns == "sorted")

    def prepare(self, data: Stories) -> Captions:
        captions = self.captions()
        captions.tokens = data.tokens(self.tok, self.nonascii == "blank")
        return captions

    def about(self) -> Mapping[str, str]:
        return self.captions().about()

    @property
    def depends_on(self) -> frozenset[str]:
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

    def choose(self, sheet: Sheet) -> Index:
        """The very pairs that are summed: IoU chose them, so that words in common or not make no difference."""
        return sheet.choose(self.matched_cells, self.backtrack == "marked")
