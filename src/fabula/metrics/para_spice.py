"""Para_SPICE (after Park et al., CVPR 2019): SPICE of a video's sentences, all tuples of the story in one graph.

Unlike the other paragraph metrics it reads the sentences as they are: a parser needs to know where one ends.
spice: native or java, as for SPICE (metrics/_graphs.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from fabula.core.nouns import Story
from fabula.metrics import spice
from fabula.metrics._caption import CaptionMetric
from fabula.metrics._graphs import Backend, version
from fabula.metrics._paragraph import Paragraph
from fabula.text.identity import as_text


@dataclass(frozen=True, kw_only=True)
class Metric(Paragraph):
    name: ClassVar[str] = "Para_SPICE"
    fields: ClassVar[tuple[str, ...]] = spice.Metric.fields

    spice: Backend = "native"

    def reader(self) -> CaptionMetric:
        return spice.Metric(tok="none", spice=self.spice)

    def text(self, story: Story) -> str:
        return as_text((story.in_order() if self.order == "start" else story).captions)

    def about(self) -> Mapping[str, str]:
        return version(self.spice)
