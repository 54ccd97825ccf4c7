"""CIDEr (CIDEr-D: Vedantam et al., CVPR 2015); equation in text/cider.py. Mean over items, 10 at most.

idf: where document frequencies come from, which decides the number: corpus (all items scored together, as COCO does),
batch:N (consecutive batches, MICap's 16), or file:PATH (a saved Idf).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from fabula.core.errors import SpecError
from fabula.data.stories import Item
from fabula.metrics.base import Array
from fabula.metrics.captions.base import CaptionMetric, place_items
from fabula.text import cider


@dataclass(frozen=True, kw_only=True)
class Metric(CaptionMetric):
    name: ClassVar[str] = "CIDEr"
    highest: ClassVar[float] = 10.0
    perfect_score: ClassVar[str] = "it ends at 10, and less where captions are short or alike"
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
        pairs, K = place_items(items), len(items)
        scope, _, argument = self.idf.partition(":")
        if scope == "file":
            return {"value": cider.score_pairs(pairs, load_idf(Path(argument)))}
        labels = cider.corpus_scope(K) if scope == "corpus" else cider.batch_scope(K, int(argument))
        return {"value": cider.score_pair_groups(pairs, list(Counter(labels).values()))}


def load_idf(path: Path) -> cider.Idf:
    """Read once while the file stays as it is: a reward asks batch by batch."""
    try:
        facts = path.stat()
    except OSError:
        return cider.Idf.load(path)  # which says what is wrong
    return load_unchanged(path, facts.st_mtime_ns, facts.st_size)


@lru_cache(2)
def load_unchanged(path: Path, changed: int, size: int) -> cider.Idf:
    return cider.Idf.load(path)
