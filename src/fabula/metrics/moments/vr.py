"""VR, video retrieval (Lei et al., ECCV 2020): the right video among the first k; times are not read.

repeats  once: a video that is listed again takes no further place · count: it does, as in TVR's evaluator
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.core.spec import show
from fabula.metrics.moments._recall import Ranked
from fabula.metrics.moments.base import Block, Columns, first_place, places


@dataclass(frozen=True, kw_only=True)
class Metric(Ranked):
    name: ClassVar[str] = "VR"
    perfect_score: ClassVar[str] = ""
    answers: ClassVar[str] = "VR"
    needs: ClassVar[Literal["windows", "videos", "saliency"]] = "videos"
    primary: ClassVar[str] = "r1"
    rules: ClassVar[Mapping[str, str]] = {
        "repeats=once": "a video that is listed again takes no further place",
        "repeats=count": "a video that is listed again takes a place each time",
    }

    repeats: Literal["once", "count"] = "once"

    def names(self) -> tuple[str, ...]:
        return tuple(f"r{show(k)}" for k in self.k)

    def units(self, block: Block) -> Columns:
        at, place = block.ranked(self.order, None if self.repeats == "once" else self.top)
        of = block.of[at]
        if self.repeats == "once" and len(at):
            pairs = np.stack([of, block.videos[at]], axis=1)
            first = np.sort(np.unique(pairs, axis=0, return_index=True)[1])
            at, of = at[first], of[first]
            place = places(of, len(block))
            counted = place < (len(at) if self.top is None else self.top)
            at, of, place = at[counted], of[counted], place[counted]
        right = block.right[at]
        return self.recalls(first_place(of[right], place[right], len(block)))
