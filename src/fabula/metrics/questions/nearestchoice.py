"""NearestChoice (E.T. Bench's rar, eca, rvq: Liu et al., NeurIPS 2024): the option that is named, else the most alike.

accuracy   share of questions whose right option was chosen (_nearest.py has the rules)
similar    share of answers that their likeness gave to an option
failed     share of answers without any letter, empty ones among them
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.metrics.questions._nearest import Nearest


@dataclass(frozen=True, kw_only=True)
class Metric(Nearest):
    name: ClassVar[str] = "NearestChoice"
    fields: ClassVar[tuple[str, ...]] = ("accuracy", "similar", "failed")
    primary: ClassVar[str] = "accuracy"
