"""CIDEr (CIDEr-D: Vedantam et al., CVPR 2015); equation in text/cider.py. Mean over items, 10 at most.

idf: where document frequencies come from, which decides the number: corpus (all items scored together, as COCO does),
batch:N (consecutive batches, MICap's 16), or file:PATH (a saved Idf).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from fabula.core.errors import SpecError
from fabula.core.nouns import Item
from fabula.metrics.base import Array
from fabula.metrics.captions.base import CaptionMetric, split_items
from fabula.text import cider


@dataclass(frozen=True, kw_only=True)
class Metric(CaptionMetric):
    name: ClassVar[str] = "CIDEr"
    below_one: ClassVar[str] = "it ends at 10, and less where captions are short or alike"
    paper: ClassVar[str] = "Vedantam et al., CVPR 2015"
    rules: ClassVar[Mapping[str, str]] = {
        "idf=corpus": "document frequencies come from all items",
        "idf": "document frequencies come from {}",
    }

    idf: str = "corpus"

    def __post_init__(self) -> None:
        super().__post_init__()
        scope, _, argument = self.idf.partition(":")
        size_given = scope == "batch" and argument.isdecimal() and int(argument) > 0
        if not (self.idf == "corpus" or size_given or (scope == "file" and argument)):
            raise SpecError(f"CIDEr: idf={self.idf!r}; it may be corpus, batch:N or file:PATH")

    def tabulate(self, items: Sequence[Item]) -> Mapping[str, Array]:
        pairs = list(zip(*split_items(items), strict=True))
        scope, _, argument = self.idf.partition(":")
        if scope == "file":
            values = cider.scores(pairs, cider.Idf.load(Path(argument)))
        else:
            labels = (
                cider.corpus_scope(len(items)) if scope == "corpus" else cider.batch_scope(len(items), int(argument))
            )
            values = cider.scores_within(pairs, labels)
        return {"value": np.array(values)}
