"""Para_iSPICE (Raajesh et al., CVPR 2024): iSPICE of a video's sentences, which are its captionset.

ids and spice as for iSPICE; of several reference sets the first that has the video is used. Sentences are read as they
are, in the order of time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from fabula.core.nouns import Story
from fabula.metrics import ispice
from fabula.metrics._caption import CaptionMetric
from fabula.metrics._graphs import Backend, version
from fabula.metrics._paragraph import Paragraph
from fabula.text.identity import as_text


@dataclass(frozen=True, kw_only=True)
class Metric(Paragraph):
    name: ClassVar[str] = "Para_iSPICE"
    paper: ClassVar[str] = "Raajesh et al., CVPR 2024"
    fields: ClassVar[tuple[str, ...]] = ispice.Metric.fields

    ids: str = "11"
    spice: Backend = "native"

    def __post_init__(self) -> None:
        super().__post_init__()
        ispice.check_ids(self.ids)

    def reader(self) -> CaptionMetric:
        return ispice.Metric(ids=self.ids, spice=self.spice)

    def text(self, story: Story) -> str:
        return as_text((story.in_order() if self.order == "start" else story).captions)

    def about(self) -> Mapping[str, str]:
        return version(self.spice)
