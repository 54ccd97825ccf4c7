"""SPICE 1.0 (Anderson et al., ECCV 2016): F of scene-graph tuples; equation in text/spice.py. Mean over items.

spice: native is our parser, learned from the original's (docs/spice.md: how well they agree) · java runs the original,
from the extra [spice-java].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from fabula.core.nouns import Item
from fabula.metrics._caption import CaptionMetric
from fabula.text import spice, spice_java


@dataclass(frozen=True, kw_only=True)
class Metric(CaptionMetric):
    name: ClassVar[str] = "SPICE"
    paper: ClassVar[str] = "Anderson et al., ECCV 2016"
    fields: ClassVar[tuple[str, ...]] = ("value", "precision", "recall")
    shown: ClassVar[bool] = False  # until the native parser agrees with the original more closely: docs/spice.md

    spice: Literal["native", "java"] = "native"

    def units(self, items: Sequence[Item]) -> list[dict[str, Any]]:
        score = spice.scores if self.spice == "native" else spice_java.scores
        found = score([i.candidate or "" for i in items], [i.references for i in items])
        return [{"value": s.f, "precision": s.precision, "recall": s.recall} for s in found]

    def about(self) -> Mapping[str, str]:
        return {"spice": spice.SCORER.version if self.spice == "native" else spice_java.VERSION}
