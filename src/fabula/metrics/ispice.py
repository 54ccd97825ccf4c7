"""iSPICE (Raajesh et al., CVPR 2024): do people with ids P1, P2, … do what they should; equation in text/ispice.py.

ids         the greatest id that counts: 11 as published, any for all
boundary    word: an id may touch punctuation or 's · blank: the published rule, blanks on both sides
skip_empty  no: a candidate without an action tuple counts as 0 · yes: it is left out of the mean, as published
spice       native · java, as for SPICE
tok         none by default: the parser needs sentences and capitals
Of several references the first is used: the metric is defined for one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from fabula.core.errors import SpecError
from fabula.core.nouns import Item
from fabula.core.rows import Rows
from fabula.metrics._base import Values
from fabula.metrics._caption import CaptionMetric
from fabula.text import ispice, spice, spice_java


@dataclass(frozen=True, kw_only=True)
class Metric(CaptionMetric):
    name: ClassVar[str] = "iSPICE"
    paper: ClassVar[str] = "Raajesh et al., CVPR 2024"
    tasks: ClassVar[tuple[str, ...]] = ("captions",)
    shown: ClassVar[bool] = False  # asked for by name: most captions have no ids
    fields: ClassVar[tuple[str, ...]] = ("value", "action", "identity")
    rules: ClassVar[Mapping[str, str]] = {
        "ids=any": "every id counts",
        "ids": "ids above {} do not count",
        "boundary=word": "an id may touch punctuation or 's",
        "boundary=blank": "an id must stand between blanks",
        "skip_empty=no": "a candidate without an action tuple counts as 0",
        "skip_empty=yes": "candidates without an action tuple are left out of the mean",
    }

    tok: Literal["ptb", "none"] = "none"
    ids: str = "11"
    boundary: Literal["word", "blank"] = "word"
    skip_empty: Literal["yes", "no"] = "no"
    spice: Literal["native", "java"] = "native"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ids != "any" and not (self.ids.isdecimal() and int(self.ids)):
            raise SpecError(f"iSPICE: ids={self.ids!r}; it may be any, or the greatest id that counts")

    def units(self, items: Sequence[Item]) -> list[dict[str, Any]]:
        ids = None if self.ids == "any" else int(self.ids)
        score = spice.scores if self.spice == "native" else spice_java.scores
        candidates = [ispice.normalise(i.candidate or "", self.boundary) for i in items]
        references = [[ispice.normalise(i.references[0], self.boundary)] for i in items]
        found = [ispice.from_spice(s, ids) for s in score(candidates, references)]
        return [{"value": s.value, "action": s.action, "identity": s.identity, "empty": float(s.empty)} for s in found]

    def combine(self, rows: Rows) -> Values:
        if self.skip_empty == "no":
            return super().combine(rows)
        kept = rows["empty"] == 0
        return {f: float(rows[f][kept].mean()) if kept.any() else 0.0 for f in self.fields}

    def about(self) -> Mapping[str, str]:
        return {"spice": spice.SCORER.version if self.spice == "native" else spice_java.VERSION}
