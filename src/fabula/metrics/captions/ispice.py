"""iSPICE (Raajesh et al., CVPR 2024): do people with ids P1, P2, … do what they should; equation in text/ispice.py.

ids         the greatest id that counts: 11 as published, any for all
boundary    word: an id may touch punctuation or 's · blank: the published rule, blanks or a sentence's end around it
skip_empty  no: a candidate without an action tuple counts as 0 · yes: it is left out of the mean, as published; where
            none is left the mean is no number (NaN; null in JSON)
spice       native · java, as for SPICE
tok         none by default: the parser needs sentences and capitals
Of several references the one that serves the candidate best counts: the metric is defined for one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from fabula.core.errors import SpecError
from fabula.core.rows import Rows
from fabula.data.stories import Item
from fabula.metrics.base import Row, Values
from fabula.metrics.captions._graphs import Backend, Graphs, greatest, of_ispice, parser, version
from fabula.metrics.captions.base import CaptionMetric, Items
from fabula.text import ispice
from fabula.text.spice import SpiceScore


@dataclass(frozen=True, kw_only=True)
class Metric(CaptionMetric):
    name: ClassVar[str] = "iSPICE"
    perfect_score: ClassVar[str] = "a text without people who do something has nothing to match"
    paper: ClassVar[str] = "Raajesh et al., CVPR 2024"
    tasks: ClassVar[tuple[str, ...]] = ("captions",)
    draws: ClassVar[str] = "graphs"
    shown: ClassVar[bool] = False  # asked for by name: most captions have no ids
    fields: ClassVar[tuple[str, ...]] = ("value", "action", "identity")
    rules: ClassVar[Mapping[str, str]] = {
        "ids=any": "every id counts",
        "ids": "ids above {} do not count",
        "boundary=word": "an id may touch punctuation or 's",
        "boundary=blank": "an id must stand between blanks or before a full stop",
        "skip_empty=no": "a candidate without an action tuple counts as 0",
        "skip_empty=yes": "candidates without an action tuple are left out of the mean",
    }

    tok: Literal["ptb", "none"] = "none"
    ids: str = "11"
    boundary: Literal["word", "blank"] = "word"
    skip_empty: Literal["yes", "no"] = "no"
    spice: Backend = "native"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ids(self.ids)

    def units(self, items: Sequence[Item]) -> list[Row]:
        found = [ispice.from_spice(s, greatest(self.ids)) for s in self.compare_items(items)]
        return [{"value": s.value, "action": s.action, "identity": s.identity, "empty": float(s.empty)} for s in found]

    def compare_items(self, items: Sequence[Item]) -> list[SpiceScore]:
        candidates = [ispice.normalise(i.candidate or "", self.boundary) for i in items]
        of = [k for k, item in enumerate(items) for _ in item.references]
        references = [[ispice.normalise(text, self.boundary)] for item in items for text in item.references]
        best: dict[int, SpiceScore] = {}
        for k, found in zip(of, parser(self.spice)([candidates[k] for k in of], references), strict=True):
            if k not in best or self.rate(found) > self.rate(best[k]):
                best[k] = found
        return [best[k] for k in range(len(items))]

    def rate(self, found: SpiceScore) -> tuple[float, ...]:
        """By what references are compared: the score, then its two factors."""
        score = ispice.from_spice(found, greatest(self.ids))
        return score.value, score.action, score.identity

    def graphs(self, items: Sequence[Item]) -> list[Graphs]:
        """What is compared of each item, for a picture; items as `rows` reads them, and each has a candidate."""
        return [of_ispice(s, greatest(self.ids)) for s in self.compare_items(self.items(Items(items)))]

    def combine(self, rows: Rows) -> Values:
        if self.skip_empty == "no":
            return super().combine(rows)
        counted = rows["empty"] == 0
        return {f: float(rows[f][counted].mean()) if counted.any() else math.nan for f in self.fields}

    def about(self) -> Mapping[str, str]:
        return version(self.spice)


def check_ids(ids: str) -> None:
    if ids != "any" and not (ids.isdecimal() and int(ids)):
        raise SpecError(f"iSPICE: ids={ids!r}; it may be any, or the greatest id that counts")
