"""Sentence similarity (Reimers & Gurevych, EMNLP 2019): the cosine of two sentences' mean vectors, negative ones 0.

cos(mean_t x_t, mean_t y_t), the mean over all tokens of the encoder's last layer, both ends included

`SODA_c(text=embed:minilm)`, `embed:FOLDER`: a folder of a sentence encoder that pools by the mean.
`embed_signed:minilm` leaves negative ones as they are, as E.T. Bench's SentSim has them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fabula.text._scorer import Block, OneByOne, Wanted

KEPT = 1 << 16  # sentences whose vectors are kept


class Embed(OneByOne):
    """`cut`: what is below 0 becomes 0, as a score of SODA must be."""

    def __init__(self, model: str = "", cut: bool = True) -> None:
        self.model, self.cut = model, cut
        self.name = ("embed" if cut else "embed_signed") + (f":{model}" if model else "")
        self.cache: dict[str, NDArray[np.float32]] = {}

    def of(self, model: str) -> Embed:
        """The same by this encoder."""
        return Embed(model, self.cut)

    @property
    def version(self) -> str:
        if not self.model:
            return "as its model"
        from fabula.text.neural.model import digest

        return f"cosine,mean,{'' if self.cut else 'signed,'}weights={digest(self.model)}"

    def pairs(self, candidates: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
        a, b = self.vectors(candidates), self.vectors(references)
        cosine = (a @ b.T).astype(np.float64).reshape(len(candidates), len(references))
        return np.maximum(0.0, cosine) if self.cut else cosine

    def pairs_many(self, blocks: Sequence[Block], wanted: Wanted | None = None) -> list[NDArray[np.float64]]:
        self.vectors(list(dict.fromkeys(s for block in blocks for side in block for s in side)))  # at once
        return super().pairs_many(blocks, wanted)

    def vectors(self, sentences: Sequence[str]) -> NDArray[np.float32]:
        """[N, C], each of length 1."""
        from fabula.text.neural.model import open_model

        encoder = open_model(self.model)
        new = list(dict.fromkeys(s for s in sentences if s not in self.cache))
        if len(self.cache) + len(new) > KEPT:
            self.cache.clear()
            new = list(dict.fromkeys(sentences))
        if new:
            for sentence, tokens in zip(new, encoder.encode(encoder.tokens(new)), strict=True):
                mean = tokens.mean(axis=0)
                self.cache[sentence] = mean / max(float(np.linalg.norm(mean)), 1e-12)
        return np.array([self.cache[s] for s in sentences], np.float32).reshape(-1, encoder.shape.width)


SCORERS = (Embed(), Embed(cut=False))
