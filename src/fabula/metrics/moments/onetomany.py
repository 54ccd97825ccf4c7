"""OneToMany (OMTG-Bench, 2025): a query with several windows, all of which an answer must name, and no more.

count    1 where the answer names as many windows as there are
tiou     |∪ answer ∩ ∪ windows| / |∪ answer ∪ ∪ windows|
p, r, f1 of the one-to-one matching of largest Σ IoU (Kuhn 1955): pairs with IoU ≥ τ, of the answer's, of the query's
etf1     count × mean over τ of f1

Where both sides are empty everything is 1. Every number is a mean over queries.
merge    copied: windows are matched as they are, sorted by start and end, so that no number depends on their order
         in-place: the union is made of the very windows that are matched afterwards: where the first stretch has
         several windows, its first one is matched as long as the stretch, as in the published program, and those of
         later stretches as they are; both sides empty: tiou 0
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fabula.core.spec import show
from fabula.match.hungarian import hungarian
from fabula.metrics.moments.base import Floats, PerQuery
from fabula.pair.tiou import area_iou, intersection


@dataclass(frozen=True, kw_only=True)
class Metric(PerQuery):
    name: ClassVar[str] = "OneToMany"
    paper: ClassVar[str] = "OMTG-Bench, 2025"
    rules: ClassVar[Mapping[str, str]] = {
        "merge=copied": "windows are matched as they were given",
        "merge=in-place": "the first window is matched as long as the stretch that it makes with those it meets",
    }

    iou: tuple[float, ...] = (0.3, 0.5, 0.7)
    merge: Literal["copied", "in-place"] = "copied"
    reader: str = "fabula"

    def names(self) -> tuple[str, ...]:
        return ("etf1", "count", "tiou", *(f"{part}@{show(t)}" for t in self.iou for part in ("p", "r", "f1")))

    def one(self, answer: Floats, wanted: Floats) -> dict[str, float]:
        count = float(len(answer) == len(wanted))
        if self.merge == "copied":  # of matchings with one sum, the same whatever the order of a file
            answer, wanted = in_order(answer), in_order(wanted)
        joined = join(answer), join(wanted)
        out = {"count": count, "tiou": union_iou(joined[0][0], joined[1][0])}
        if not len(answer) and not len(wanted) and self.merge == "copied":
            out["tiou"] = 1.0
        if self.merge == "in-place":
            answer, wanted = joined[0][1], joined[1][1]
        hits = [count] * len(self.iou)  # where a side is empty: 1 or 0
        sides = 1, 1
        if len(answer) and len(wanted):
            matched = area_iou(answer[:, None], wanted)  # [P, G]
            pairs = np.array([matched[i, j] for i, j in hungarian(matched)[1]])
            hits = [float((pairs >= t).sum()) for t in self.iou]
            sides = len(answer), len(wanted)
        f1s = []
        for t, hit in zip(self.iou, hits, strict=True):
            p, r = hit / sides[0], hit / sides[1]
            f1s.append(2 * p * r / (p + r) if p + r > 0 else 0.0)
            out |= {f"p@{show(t)}": p, f"r@{show(t)}": r, f"f1@{show(t)}": f1s[-1]}
        return out | {"etf1": count * float(np.mean(f1s))}


def in_order(windows: Floats) -> Floats:
    """Windows sorted by start and end."""
    found: Floats = windows[np.lexsort((windows[:, 1], windows[:, 0]))]
    return found


def join(windows: Floats) -> tuple[Floats, Floats]:
    """What windows cover together [U, 2]; and the windows, the first by start as long as its stretch."""
    stretches: list[list[float]] = []
    order = np.argsort(windows[:, 0], kind="stable")
    for start, end in windows[order].tolist():
        if stretches and start <= stretches[-1][1]:
            stretches[-1][1] = max(stretches[-1][1], end)
        else:
            stretches.append([start, end])
    drawn = windows.copy()
    if stretches:
        drawn[order[0]] = stretches[0]
    return np.array(stretches, dtype=np.float64).reshape(-1, 2), drawn


def measure_time(a: Floats, b: Floats) -> tuple[float, float, float]:
    """Seconds that two lists of disjoint stretches both cover, the first, the second."""
    lengths = (float((side[:, 1] - side[:, 0]).sum()) for side in (a, b))
    return float(intersection(a, b).sum()), *lengths  # type: ignore[return-value]


def union_iou(a: Floats, b: Floats) -> float:
    """IoU of what two lists of disjoint stretches cover."""
    inter, first, second = measure_time(a, b)
    union = first + second - inter
    return inter / union if union > 0 else 0.0
