"""Caption scores of every reference with every prediction: any scorer of `text/`, in either role."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from fabula.core.nouns import Story
from fabula.pair.tiou import Matrix
from fabula.text import scorer, tokenize_all

Roles = Literal["prediction-as-hypothesis", "gold-as-hypothesis"]


class Captions:
    """A caption scorer bound to a tokeniser and a direction; keeps each distinct sentence's tokens."""

    def __init__(self, text: str, roles: Roles, tok: str, ascii_only: bool) -> None:
        self.scorer, self.roles, self.tok, self.ascii_only = scorer(text), roles, tok, ascii_only
        self.tokens: dict[str, str] = {}

    def tokenize(self, sentences: Iterable[str]) -> None:
        new = list({s for s in sentences if s not in self.tokens})
        self.tokens |= zip(new, tokenize_all(new, self.tok, self.ascii_only), strict=True)

    def matrix(self, ref: Story, pred: Story) -> Matrix:
        """[G, P]"""
        if not len(ref) or not len(pred):
            return np.zeros((len(ref), len(pred)))
        golds, guesses = ([self.tokens[c] for c in story.captions] for story in (ref, pred))
        if self.roles == "gold-as-hypothesis":
            return self.scorer.pairs(golds, guesses)
        return self.scorer.pairs(guesses, golds).T

    def about(self) -> dict[str, str]:
        return {self.scorer.name: self.scorer.version}
