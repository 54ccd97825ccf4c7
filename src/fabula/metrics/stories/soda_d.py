"""SODA_d (Fujita et al., ECCV 2020), SODA-D of Batra et al. (BMVC 2022): segmentation alone, in order, one to one.

C = IoU;    S = the value of the best ordered matching of C
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.metrics.stories._soda import Soda


@dataclass(frozen=True, kw_only=True)
class Metric(Soda):
    name: ClassVar[str] = "SODA_d"
    factors: ClassVar[bool] = True
