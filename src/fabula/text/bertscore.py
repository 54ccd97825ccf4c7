"""BERTScore (Zhang et al., ICLR 2020): every token finds its nearest in the other sentence, by an encoder's vectors.

P = mean over candidate tokens of max cos(token, reference token)      R = the same the other way      F = 2PR/(P+R)

No idf, as SODA and VANTAGE use it; the sentence's two ends may be found but do not count. A sentence
without tokens scores 0. The layer is that of the reference package for the encoders it knows by size, else the last.

`SODA_c(text=bertscore:FOLDER)` (F), `bertscore-p:FOLDER`, `bertscore-r:FOLDER`; `FOLDER@9` takes layer 9.
Unrelated captions still score about .8 to .85 with RoBERTa: the floor belongs to the measure. `bertscore-rescaled` (and
`-p-rescaled`, `-r-rescaled`) takes it off: x' = (x − b) / (1 − b), b the encoder's baseline (neural/baseline.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import SpecError
from fabula.text._scorer import OneByOne

if TYPE_CHECKING:
    from fabula.text.neural.encoder import Encoder

LAYERS = {("roberta", 24): 17, ("roberta", 12): 10, ("bert", 24): 18, ("bert", 12): 9}  # bert_score 0.3.13
KEPT = 4096  # sentences whose vectors are kept


class BertScore(OneByOne):
    """F, P or R of pairs, by the encoder in a folder."""

    def __init__(self, take: str, model: str = "", rescaled: bool = False) -> None:
        self.take, self.model, self.rescaled = take, model, rescaled
        head = {"f": "bertscore", "p": "bertscore-p", "r": "bertscore-r"}[take] + ("-rescaled" if rescaled else "")
        self.name = head + (f":{model}" if model else "")
        self.cache: dict[str, tuple[NDArray[np.float32], NDArray[np.bool_]]] = {}

    def of(self, model: str) -> BertScore:
        """The same by this encoder."""
        return BertScore(self.take, model, self.rescaled)

    @property
    def folder(self) -> str:
        return self.model.rpartition("@")[0] if self.model.rpartition("@")[2].isdigit() else self.model

    @property
    def version(self) -> str:
        if not self.model:
            return "as its model"
        from fabula.text.neural.model import digest

        scale = f"baseline={self.baseline:.6g}" if self.rescaled else "raw"
        return f"bertscore,take={self.take.upper()},layer={self.layer},weights={digest(self.folder)},no-idf,{scale}"

    @cached_property
    def baseline(self) -> float:
        """What unrelated sentences score; 0 where nothing is taken off."""
        from fabula.text.neural.baseline import read_baseline

        return read_baseline(self.folder, self.layer, self.take) if self.rescaled else 0.0

    @property
    def encoder(self) -> Encoder:
        from fabula.text.neural.model import open_model

        return open_model(self.folder)

    @property
    def layer(self) -> int:
        shape, layer = self.encoder.shape, self.model.rpartition("@")[2]
        if self.folder == self.model:
            return int(LAYERS.get((shape.family, shape.layers), shape.layers))
        if not 1 <= int(layer) <= shape.layers:
            raise SpecError(f"{self.name}: layer {layer}; this encoder has 1 to {shape.layers}")
        return int(layer)

    def pairs(self, candidates: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
        self.embed([*candidates, *references])
        out = np.zeros((len(candidates), len(references)))
        for i, c in enumerate(candidates):
            for j, r in enumerate(references):
                out[i, j] = self.one(c, r)
        b = self.baseline
        return (out - b) / (1 - b) if self.rescaled else out

    def one(self, candidate: str, reference: str) -> float:
        (c, c_counts), (r, r_counts) = self.cache[candidate], self.cache[reference]
        if not c_counts.any() or not r_counts.any():
            return 0.0
        near = c @ r.T  # [Tc, Tr]
        P = float(near.max(axis=1)[c_counts].mean(dtype=np.float64))
        R = float(near.max(axis=0)[r_counts].mean(dtype=np.float64))
        return {"p": P, "r": R, "f": 2 * P * R / (P + R) if P + R else 0.0}[self.take]

    def embed(self, sentences: Sequence[str]) -> None:
        """Vectors of length 1 of each token, and which tokens count; of sentences that are not there yet."""
        new = list(dict.fromkeys(s for s in sentences if s not in self.cache))
        if not new:
            return
        if len(self.cache) + len(new) > KEPT:
            self.cache.clear()
            new = list(dict.fromkeys(sentences))
        encoder = self.encoder
        ids = encoder.tokens(new)
        for sentence, vectors in zip(new, encoder.encode(ids, self.layer), strict=True):
            counts = np.ones(len(vectors), bool)
            counts[[0, -1]] = False
            self.cache[sentence] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True), counts


SCORERS = tuple(BertScore(take, rescaled=rescaled) for rescaled in (False, True) for take in "fpr")
