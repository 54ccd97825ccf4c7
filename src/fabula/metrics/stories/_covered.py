"""Precision and recall by covering: a prediction is right when some reference is near, and the other way round."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from fabula.core.means import add_up, f1, f1_of, mean
from fabula.core.rows import Rows
from fabula.core.spec import show
from fabula.metrics.base import Array, Values
from fabula.metrics.stories.base import TOP_RULE, Pair, StoryMetric, find_runs
from fabula.pair.grid import Grid, Mask

Hits = Callable[[float], Mask]  # level → [C]


@dataclass(frozen=True, kw_only=True)
class Covered(StoryMetric):
    """Base: a subclass says which pairs are near at a level. Several levels are averaged."""

    fields: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1")
    primary: ClassVar[str] = "f1"
    perfect_score: ClassVar[str] = ""
    rules: ClassVar[Mapping[str, str]] = {
        "top=none": "all predictions count",
        "top": TOP_RULE,
        "f1=videos": "F1 is made per video",
        "f1=means": "F1 is made of mean precision and mean recall",
        "f1=levels": "F1 is made of mean precision and recall at each τ",
        "best_by=f1": "one reference set gives both precision and recall",
        "best_by=each": "the best precision and the best recall over reference sets are taken on their own",
        "tau": "τ is {}",
        "within": "starts may be {} s apart",
        "cmp=>": "the overlap must exceed τ",
        "cmp=>=": "the overlap must reach τ",
    }

    top: int | None = None  # only N predictions count: the most confident with order=time, else the first of the file
    f1: Literal["videos", "means", "levels"] = "videos"  # of each video · of mean P and R · of those at each level
    best_by: Literal["f1", "each"] = "f1"  # refs=best: one set for all, or the best P and the best R on their own

    @abstractmethod
    def levels(self) -> tuple[float, ...]: ...

    @abstractmethod
    def hits(self, grid: Grid) -> Hits: ...

    def many(self, pairs: Sequence[Pair], ctx: object) -> dict[str, Array]:
        G, P = self.sizes(pairs)
        references: dict[float, list[Mask]] = {level: [] for level in self.levels()}  # which are near
        predictions = {level: np.zeros(int(P.sum()), bool) for level in self.levels()}
        for grid in self.tiles(pairs):
            near = self.hits(grid)
            for level, marks in references.items():
                hit = near(level)
                marks.append(np.bincount(grid.gold[hit], minlength=int(grid.shapes[:, 0].sum())) > 0)
                predictions[level] |= np.bincount(grid.guess[hit], minlength=int(P.sum())) > 0
        columns: dict[str, Array] = {}
        for level, marks in references.items():
            found = count_runs(predictions[level], P)
            columns[f"precision@{show(level)}"] = np.divide(found, P, out=np.zeros(len(P)), where=P > 0)
            columns[f"recall@{show(level)}"] = count_runs(np.concatenate(marks), G) / G
        return self.averaged(columns | {"n_ref": G, "n_pred": P})

    def best_rows(self, rows: Rows) -> Rows:
        if self.best_by == "f1" or not len(rows):
            return super().best_rows(rows)
        starts = find_runs(rows)
        first = rows.take(starts).as_set(0)
        columns = {
            n: np.maximum.reduceat(c, starts) if "@" in n else first[n]
            for n, c in rows.columns.items()
            if n not in self.fields
        }
        return replace(first, columns=self.averaged(columns))

    def averaged(self, columns: dict[str, Array]) -> dict[str, Array]:
        """With the means over levels."""
        names = [[f"{n}@{show(x)}" for x in self.levels()] for n in ("precision", "recall")]
        precision, recall = (add_up([columns[n] for n in of]) / len(of) for of in names)
        return {"precision": precision, "recall": recall, "f1": f1_of(precision, recall), **columns}

    @property
    def is_mean(self) -> bool:
        return self.f1 == "videos"

    def combine(self, rows: Rows) -> Values:
        values = super().combine(rows)
        if self.f1 == "means":
            return values | {"f1": f1(values["precision"], values["recall"])}
        if self.f1 == "levels":
            at = [(rows[f"precision@{show(x)}"].mean(), rows[f"recall@{show(x)}"].mean()) for x in self.levels()]
            return values | {"f1": mean([f1(float(p), float(r)) for p, r in at])}
        return values

    def row_values(self, rows: Rows, field: str) -> Array | None:
        if field != "f1" or self.f1 == "videos":
            return rows[field]
        if self.f1 == "means":
            return f1_of(rows["precision"], rows["recall"])
        return add_up([f1_of(rows[f"precision@{show(x)}"], rows[f"recall@{show(x)}"]) for x in self.levels()]) / len(
            self.levels()
        )

    def combine_at(self, rows: Rows, level: str) -> Values:
        """F1 at one level is made per video, or of mean precision and recall, as over all levels."""
        P, R = rows[f"precision@{level}"], rows[f"recall@{level}"]
        precision, recall = float(P.mean()), float(R.mean())
        of_videos = float(f1_of(P, R).mean())
        return {
            "precision": precision,
            "recall": recall,
            "f1": of_videos if self.f1 == "videos" else f1(precision, recall),
        }

    def sums(self, rows: Rows) -> Array | None:
        match self.f1:
            case "videos":
                names = [self.primary]
            case "means":
                names = ["precision", "recall"]
            case "levels":
                names = [f"{n}@{show(x)}" for x in self.levels() for n in ("precision", "recall")]
        return np.stack([*(rows[n] for n in names), np.ones(len(rows))], axis=1)

    def of_sums(self, totals: Array) -> Array:
        means = totals[:, :-1] / totals[:, -1:]
        if self.f1 == "videos":
            return means[:, 0]
        value: Array = f1_of(means[:, ::2], means[:, 1::2]).mean(axis=1)  # of [B, levels]
        return value


def count_runs(marks: Mask, counts: Array) -> Array:
    """How many of each run of so many are marked. [ΣN] → [N]"""
    owners = np.repeat(np.arange(len(counts)), counts.astype(np.int64))
    return np.bincount(owners[marks], minlength=len(counts)).astype(np.float64)
