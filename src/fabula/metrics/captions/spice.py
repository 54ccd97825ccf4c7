"""SPICE 1.0 (Anderson et al., ECCV 2016): F of scene-graph tuples; equation in text/spice. Mean over items.

spice: native is our parser (docs/spice.md: how well it agrees) · java runs the original, from the extra [spice-java].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from fabula.data.stories import Item
from fabula.metrics.base import Row
from fabula.metrics.captions._graphs import Backend, Graphs, of_spice, parser, version
from fabula.metrics.captions.base import CaptionMetric, Items
from fabula.text.spice import SpiceScore


@dataclass(frozen=True, kw_only=True)
class Metric(CaptionMetric):
    name: ClassVar[str] = "SPICE"
    perfect_score: ClassVar[str] = "a text without a scene graph has nothing to match"
    paper: ClassVar[str] = "Anderson et al., ECCV 2016"
    fields: ClassVar[tuple[str, ...]] = ("value", "precision", "recall")
    draws: ClassVar[str] = "graphs"
    shown: ClassVar[bool] = False  # until the native parser agrees with the original more closely: docs/spice.md

    spice: Backend = "native"

    def units(self, items: Sequence[Item]) -> list[Row]:
        return [{"value": s.f, "precision": s.precision, "recall": s.recall} for s in self.compare_items(items)]

    def compare_items(self, items: Sequence[Item]) -> list[SpiceScore]:
        return parser(self.spice)([i.candidate or "" for i in items], [i.references for i in items])

    def graphs(self, items: Sequence[Item]) -> list[Graphs]:
        """What is compared of each item, for a picture; items as `rows` reads them, and each has a candidate."""
        return [of_spice(s) for s in self.compare_items(self.items(Items(items)))]

    def about(self) -> Mapping[str, str]:
        return version(self.spice)
