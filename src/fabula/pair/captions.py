"""Caption scores of every reference with every prediction: any scorer of `text/`, in either role."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from numpy.typing import NDArray

from fabula.core.memory import require
from fabula.data.stories import Story, join_captions, join_words
from fabula.pair.grid import Cells, Grid, Index, Mask
from fabula.pair.tiou import Matrix
from fabula.text import PlacedScorer, scorer, token_table
from fabula.text.placed import Pairs, Tokens

if TYPE_CHECKING:
    from fabula.llm.session import Session

Roles = Literal["prediction-as-hypothesis", "gold-as-hypothesis"]
Counts = NDArray[np.int64]


class Captions:
    """A caption scorer bound to a tokeniser and a direction.

    Each distinct sentence is tokenised once. `scores` gives the cells of many videos from one call of the scorer, and
    only those that are wanted.
    """

    def __init__(
        self,
        text: str,
        roles: Roles,
        tok: str,
        ascii_only: bool,
        sorted_columns: bool = False,
        session: Session | None = None,
    ) -> None:
        self.scorer, self.roles, self.tok, self.ascii_only = scorer(text, session), roles, tok, ascii_only
        self.sorted_columns = sorted_columns
        self.tokens = Tokens({})
        self.crowded: Counts = np.zeros(0, np.int64)  # of the last `scores`: pairs beyond the scorer, by video. [N]

    def tokenize(self, sentences: Iterable[str]) -> None:
        """The tokens of these sentences, besides those that are there."""
        found = token_table([s for s in sentences if s not in self.tokens], self.tok, self.ascii_only)
        if found is not self.tokens.table:
            self.tokens = Tokens({**self.tokens.table, **found} if self.tokens else found)

    def scores(self, grid: Grid, wanted: Mask) -> Cells:
        """The wanted cells of a grid; the others are 0. What was asked for before is kept with the grid. [C]"""
        key = self.scorer, self.roles, self.tok, self.ascii_only, self.sorted_columns
        found = grid.scored(key, wanted, lambda new: self.score_cells(grid, new))
        self.crowded = np.bincount(grid.pair[zero_crowded(found)], minlength=len(grid))
        return found

    def score_cells(self, grid: Grid, wanted: Mask) -> Cells:
        """The wanted cells, NaN for a pair beyond the scorer; the others are anything. [C]"""
        if isinstance(self.scorer, PlacedScorer):
            return self.score_placed(grid, wanted, self.scorer)
        G, P = self.tokenized_stories(grid.refs), self.tokenized_stories(grid.preds)
        if self.sorted_columns:
            P = [[words[j] for j in sorted(range(len(words)), key=str)] for words in P]
        if self.roles == "gold-as-hypothesis":
            return self.cells(G, P, wanted)
        turned = grid.turned()
        wanted_turned = np.empty_like(wanted)
        wanted_turned[turned] = wanted
        found: Cells = self.cells(P, G, wanted_turned)[turned]
        return found

    def score_placed(self, grid: Grid, wanted: Mask, scorer: PlacedScorer) -> Cells:
        """The same by places of sentences: of each hypothesis its cells one after the other, as the scorer likes it."""
        try:
            _, texts, gold, guess = grid.place_captions(self.tokens)
        except KeyError:  # sentences that `tokenize` was not told of
            self.tokenize(c for stories in (grid.refs, grid.preds) for c in join_captions(stories))
            _, texts, gold, guess = grid.place_captions(self.tokens)
        if self.sorted_columns:
            guess = guess[sort_by_name(grid.shapes[:, 1])]
        cells = np.flatnonzero(wanted)
        if self.roles != "gold-as-hypothesis":
            cells = cells[np.argsort(grid.guess[cells], kind="stable")]
        g, p = gold[grid.gold[cells]], guess[grid.guess[cells]]
        sides = (g, p) if self.roles == "gold-as-hypothesis" else (p, g)
        found = np.zeros(len(wanted))
        found[cells] = scorer.score_places(Pairs.of(texts, *sides))
        return found

    def within(self, ref: Story, pred: Story) -> Strips:
        """The same scores of one video, some of its cells at a time."""
        return Strips(self, ref, pred)

    def cells(self, candidates: Sequence[Sequence[str]], references: Sequence[Sequence[str]], wanted: Mask) -> Cells:
        """All matrices of the scorer end to end, row by row."""
        blocks = [(C, R) for C, R in zip(candidates, references, strict=True) if C and R]
        return np.concatenate([np.zeros(0), *(scores.ravel() for scores in self.scorer.pairs_many(blocks, wanted))])

    def matrix(self, ref: Story, pred: Story) -> Matrix:
        """Every cell of one video. [G, P]"""
        grid = Grid.of([(ref, pred)])
        cells = len(grid.pair)
        require(24 * cells, f"caption scores of {cells} pairs", "cut the longest videos into parts, or ask for less")
        return self.scores(grid, np.ones(cells, bool)).reshape(len(ref), len(pred))

    def tokenized_stories(self, stories: Sequence[Story]) -> list[list[str]]:
        """The tokens of every caption of every story."""
        words = cast("list[str]", join_words(stories))
        try:
            found = list(map(self.tokens.__getitem__, words))
        except KeyError:  # sentences that `tokenize` was not told of, or none
            return self.tokenized([story.captions for story in stories])
        ends = list(accumulate(map(len, stories), initial=0))
        return [found[start:end] for start, end in pairwise(ends)]

    def tokenized(self, lists: Sequence[Sequence[str]]) -> list[list[str]]:
        """The tokens of every sentence of every list."""
        try:
            return [[self.tokens[c] for c in sentences] for sentences in lists]
        except KeyError:  # sentences that `tokenize` was not told of
            self.tokenize(c for sentences in lists for c in sentences)
            return [[self.tokens[c] for c in sentences] for sentences in lists]

    def about(self) -> dict[str, str]:
        return {self.scorer.name: self.scorer.version}


class Strips:
    """Caption scores of one video with very many events: of a run of references, or of single pairs."""

    def __init__(self, captions: Captions, ref: Story, pred: Story) -> None:
        (G,), (P,) = captions.tokenized([ref.captions]), captions.tokenized([pred.captions])
        if captions.sorted_columns:
            P = [P[j] for j in sorted(range(len(P)), key=str)]
        self.G, self.P, self.turned = G, P, captions.roles != "gold-as-hypothesis"
        self.scorer = captions.scorer.within(G if self.turned else P)
        self.crowded = 0  # pairs beyond the scorer, so far

    def rows(self, start: int, wanted: NDArray[np.bool_]) -> Matrix:
        """The wanted cells of the references from `start` on; the others are 0. [R, P]"""
        scores = np.zeros(wanted.shape)
        i, j = np.flatnonzero(wanted.any(axis=1)), np.flatnonzero(wanted.any(axis=0))  # of sorted events few overlap
        if not len(i):
            return scores
        wanted_cells = wanted[np.ix_(i, j)]
        G, P = [self.G[start + k] for k in i.tolist()], [self.P[k] for k in j.tolist()]
        if self.turned:
            (found,) = self.scorer.pairs_many([(P, G)], np.ascontiguousarray(wanted_cells.T).ravel())
            found = found.T
        else:
            (found,) = self.scorer.pairs_many([(G, P)], wanted_cells.ravel())
        self.crowded += int(np.count_nonzero(zero_crowded(found) & wanted_cells))
        scores[np.ix_(i, j)] = np.where(wanted_cells, found, 0.0)
        return scores

    def take_crowded(self) -> Counts:
        """How many pairs were beyond the scorer since this was asked before. [1]"""
        found, self.crowded = np.array([self.crowded], np.int64), 0
        return found

    def at(self, pairs: Sequence[tuple[int, int]]) -> list[float]:
        """The scores of single cells."""
        sides = [([self.P[j]], [self.G[i]]) if self.turned else ([self.G[i]], [self.P[j]]) for i, j in pairs]
        found = np.array([scores[0, 0] for scores in self.scorer.pairs_many(sides)])
        self.crowded += int(np.count_nonzero(zero_crowded(found)))
        values: list[float] = found.tolist()
        return values


def sort_by_name(counts: Index) -> Index:
    """Where each prediction stands when those of every story go by the names 0, 1, 10, 11, 2, …  [ΣP]"""
    found, start = np.arange(int(counts.sum())), 0
    for count in counts.tolist():
        if count > 10:
            found[start : start + count] = [start + j for j in sorted(range(count), key=str)]
        start += count
    return found


def zero_crowded(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Pairs beyond the scorer come as NaN: they score 0, and whoever asked is told which they were."""
    beyond = np.isnan(scores)
    scores[beyond] = 0.0
    return beyond
