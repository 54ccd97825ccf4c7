"""GroundedChoice (E.T. Bench's gvq: Liu et al., NeurIPS 2024): the right option, and when it happens.

Of answers whose option is right, the first window that `reader` finds in them: r1@τ and miou, over all questions, so
that a wrong option and an answer without a window have 0. `r1` is the mean over τ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.core.spec import show
from fabula.data.questions import Response
from fabula.io.answers.readers import READERS
from fabula.metrics.base import Row
from fabula.metrics.questions._nearest import Nearest
from fabula.pair.tiou import hull_iou, single_iou


@dataclass(frozen=True, kw_only=True)
class Metric(Nearest):
    name: ClassVar[str] = "GroundedChoice"
    fields: ClassVar[tuple[str, ...]] = (
        *("r1", "r1@0.1", "r1@0.3", "r1@0.5", "r1@0.7"),
        *("miou", "accuracy", "similar", "failed"),
    )
    primary: ClassVar[str] = "r1"
    rules: ClassVar[Mapping[str, str]] = {
        "digits=float64": "overlaps are computed in double precision",
        "digits=mixed": "overlaps in single precision are held against τ in double: one of exactly 0.7 is a miss",
        "reader=fabula": "windows are read from words by our own rules",
        "reader": "windows are read from words as {} reads them",
    }

    iou: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7)
    digits: Literal["float64", "mixed"] = "float64"
    reader: str = "fabula"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "reader", READERS.get(self.reader).name)
        levels = tuple(f"r1@{show(t)}" for t in self.iou)
        object.__setattr__(self, "fields", ("r1", *levels, "miou", "accuracy", "similar", "failed"))

    def can_read(self, response: Response) -> bool:
        return super().can_read(response) and bool(response.windows)

    def units(self, responses: Sequence[Response]) -> list[Row]:
        read, rows = READERS.get(self.reader).read, []
        measure = single_iou if self.digits == "mixed" else hull_iou
        for response, row in zip(responses, super().units(responses), strict=True):
            windows = read(response.answer or "") if row["accuracy"] else []
            best = 0.0
            if windows:
                wanted = np.array(response.windows, dtype=np.float64)
                best = float(np.nan_to_num(measure(np.array([windows[0]]), wanted)).max())
            hits = {f"r1@{show(t)}": float(bool(windows) and best >= t) for t in self.iou}
            failed = max(row["failed"], float(bool(row["accuracy"]) and not windows))
            rows.append({"r1": float(np.mean(list(hits.values()))), **hits, "miou": best, **row, "failed": failed})
        return rows
