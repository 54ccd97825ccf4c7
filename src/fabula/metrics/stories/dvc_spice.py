"""SPICE of dense captions (after Krishna et al., ICCV 2017): SPICE of the pairs that overlap by τ, mean over τ.

spice: native or java, as for SPICE (metrics/captions/_graphs.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.metrics.captions._graphs import Graphs, of_spice
from fabula.metrics.stories._families.localised_graphs import LocalisedGraphs
from fabula.text.spice import SpiceScore


@dataclass(frozen=True, kw_only=True)
class Metric(LocalisedGraphs):
    name: ClassVar[str] = "DVC_SPICE"
    label: ClassVar[str] = "SPICE"

    def worth(self, score: SpiceScore) -> float:
        return score.f

    def graphs_of(self, score: SpiceScore) -> Graphs:
        return of_spice(score)
