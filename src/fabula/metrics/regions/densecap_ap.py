"""DenseCap AP: each of the 35 average precisions that DenseCap mAP is the mean of (Johnson et al., CVPR 2016).

iou0.5_meteor0.1 is AP at IoU ≥ .5 and METEOR > .1; iou0.5 is the detection AP at IoU ≥ .5. Computed when asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.core.rows import Rows
from fabula.core.spec import show
from fabula.metrics.base import Values
from fabula.metrics.regions import densecap_map


def field(o: float, s: float | None) -> str:
    return f"iou{show(o)}" if s is None else f"iou{show(o)}_meteor{show(s)}"


PLAIN = densecap_map.Metric()


@dataclass(frozen=True, kw_only=True)
class Metric(densecap_map.Metric):
    name: ClassVar[str] = "DenseCap_AP"
    fields: ClassVar[tuple[str, ...]] = tuple(field(o, s) for o in PLAIN.ious for s in (*PLAIN.meteors, None))
    primary: ClassVar[str] = "iou0.5_meteor0"
    shown: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """The thresholds may be others than the usual ones, so the names come from them."""
        super().__post_init__()
        names = tuple(field(o, s) for o in self.ious for s in (*self.meteors, None))
        object.__setattr__(self, "fields", names)
        object.__setattr__(self, "primary", type(self).primary if type(self).primary in names else names[0])

    def fold(self, rows: Rows) -> Values:
        return self.combine(rows)

    def combine(self, rows: Rows) -> Values:
        return {field(o, s): ap for (o, s), ap in self.precisions(rows).items()}
