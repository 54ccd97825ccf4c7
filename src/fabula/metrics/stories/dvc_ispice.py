"""iSPICE of dense captions (Raajesh et al., CVPR 2024, for events): iSPICE of the pairs that overlap by τ, mean over τ.

People are renamed P1, P2, … by first appearance in the whole story, each side by itself: who is who must hold
from event to event. A pair in which nobody with an id does anything, on neither side, does not count.

ids    the greatest id that counts: 11 as published, any for all
tok    none by default: the parser needs sentences and capitals
spice  native or java, as for SPICE (metrics/captions/_graphs.py)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from fabula.core.nouns import Story
from fabula.metrics.captions._graphs import Graphs, greatest, of_ispice
from fabula.metrics.captions.ispice import check_ids
from fabula.metrics.stories._families.localised_graphs import LocalisedGraphs
from fabula.text.identity import capitalise_sentences, renumber_ids
from fabula.text.ispice import from_spice
from fabula.text.spice import SpiceScore


@dataclass(frozen=True, kw_only=True)
class Metric(LocalisedGraphs):
    name: ClassVar[str] = "DVC_iSPICE"
    label: ClassVar[str] = "iSPICE"

    tok: Literal["ptb", "none"] = "none"
    ids: str = "11"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ids(self.ids)

    def rename_people(self, story: Story) -> Story:
        captions = [capitalise_sentences(caption) for caption in renumber_ids(story.captions)]
        return replace(story, events=tuple(replace(e, caption=c) for e, c in zip(story.events, captions, strict=True)))

    def worth(self, score: SpiceScore) -> float | None:
        found = from_spice(score, greatest(self.ids))
        somebody = any(len(t) > 1 for side in (found.candidate, found.reference) for t in side)
        return found.value if somebody else None

    def graphs_of(self, score: SpiceScore) -> Graphs:
        return of_ispice(score, greatest(self.ids))
