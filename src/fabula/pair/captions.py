"""Caption scores of every reference with every prediction: any scorer of `text/`, in either role."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from fabula.core.nouns import Story
from fabula.pair.tiou import Matrix
from fabula.text import scorer, tokenize_all

Roles = Literal["prediction-as-hypothesis", "gold-as-hypothesis"]
Index = dict[str, int]


class Captions:
    """A caption scorer bound to a tokeniser and a direction.

    Each distinct sentence is tokenised once. `score_all` scores many videos in one call of the scorer and keeps the
    numbers until the next block comes; `matrix` reads them, or scores on the spot what it does not find.
    """

    def __init__(self, text: str, roles: Roles, tok: str, ascii_only: bool, sorted_columns: bool = False) -> None:
        self.scorer, self.roles, self.tok, self.ascii_only = scorer(text), roles, tok, ascii_only
        self.sorted_columns = sorted_columns
        self.tokens: dict[str, str] = {}
        self.kept: dict[str, tuple[Index, Index, Matrix]] = {}  # video → gold sentences, predicted ones, scores

    def tokenize(self, sentences: Iterable[str]) -> None:
        new = list({s for s in sentences if s not in self.tokens})
        self.tokens |= zip(new, tokenize_all(new, self.tok, self.ascii_only), strict=True)

    def score_all(self, block: Sequence[tuple[Sequence[Story], Story]]) -> None:
        """The videos of a block, each with all its reference stories and its predicted one."""
        if not self.scorer.alone:  # reference sets must not be mixed
            return
        told = [(refs, pred) for refs, pred in block if refs and len(pred)]
        golds = [list(dict.fromkeys(c for ref in refs for c in ref.captions)) for refs, _ in told]
        guesses = [list(dict.fromkeys(pred.captions)) for _, pred in told]
        self.kept = {
            pred.id: ({c: i for i, c in enumerate(G)}, {c: j for j, c in enumerate(P)}, scores)
            for (_, pred), G, P, scores in zip(told, golds, guesses, self.matrices(golds, guesses), strict=True)
        }

    def matrix(self, ref: Story, pred: Story) -> Matrix:
        """[G, P]"""
        scores = self.in_order(ref, pred)
        return scores[:, sorted(range(len(pred)), key=str)] if self.sorted_columns else scores

    def in_order(self, ref: Story, pred: Story) -> Matrix:
        """Column j is prediction j. [G, P]"""
        if not len(ref) or not len(pred):
            return np.zeros((len(ref), len(pred)))
        if pred.id in self.kept:
            G, P, scores = self.kept[pred.id]
            try:
                found: Matrix = scores[np.ix_([G[c] for c in ref.captions], [P[c] for c in pred.captions])]
                return found
            except KeyError:  # a story that is not of this block
                pass
        return self.matrices([ref.captions], [pred.captions])[0]

    def matrices(self, golds: Sequence[Sequence[str]], guesses: Sequence[Sequence[str]]) -> list[Matrix]:
        """One [G, P] matrix for each pair of lists, whichever side plays the hypothesis."""
        self.tokenize(c for side in (golds, guesses) for sentences in side for c in sentences)
        G = [[self.tokens[c] for c in sentences] for sentences in golds]
        P = [[self.tokens[c] for c in sentences] for sentences in guesses]
        if self.roles == "gold-as-hypothesis":
            return self.scorer.pairs_many(list(zip(G, P, strict=True)))
        return [scores.T for scores in self.scorer.pairs_many(list(zip(P, G, strict=True)))]

    def about(self) -> dict[str, str]:
        return {self.scorer.name: self.scorer.version}
