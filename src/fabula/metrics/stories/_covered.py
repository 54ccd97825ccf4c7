"""Precision and recall by covering: a prediction is right when some reference is near, and the other way round."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fabula.core.means import add_up, f1, f1_of, mean
from fabula.core.nouns import Story
from fabula.core.rows import Rows
from fabula.core.spec import show
from fabula.metrics.base import Array, Row, Values
from fabula.metrics.stories.base import Pair, StoryMetric, find_runs, take_best
from fabula.pair.grid import Grid, Index
from fabula.pair.strips import strips

Hits = Callable[[float], NDArray[np.bool_]]  # level → [G, P]


@dataclass(frozen=True, kw_only=True)
class Covered(StoryMetric):
    """Base: a subclass says which pairs are near at a level. Several levels are averaged."""

    fields: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1")
    primary: ClassVar[str] = "f1"
    below_one: ClassVar[str] = ""
    rules: ClassVar[Mapping[str, str]] = {
        "top=none": "all predictions count",
        "top": "only the first {} predictions of a video count",
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

    top: int | None = None  # only the first N predictions of the file count
    f1: Literal["videos", "means", "levels"] = "videos"  # of each video · of mean P and R · of those at each level
    best_by: Literal["f1", "each"] = "f1"  # refs=best: one set for all, or the best P and the best R on their own

    @abstractmethod
    def levels(self) -> tuple[float, ...]: ...

    @abstractmethod
    def hits(self, ref: Story, pred: Story) -> Hits: ...

    @abstractmethod
    def cell_hits(self, grid: Grid) -> Hits:
        """`hits` of many videos: level → [C]"""

    def unit(self, ref: Story, pred: Story, ctx: Any) -> Row:
        rows: dict[float, list[NDArray[np.bool_]]] = {level: [] for level in self.levels()}  # which references are near
        columns = {level: np.zeros(len(pred), bool) for level in self.levels()}  # which predictions
        for some in strips(ref, pred):
            near = self.hits(some, pred)
            for level in rows:
                hit = near(level)
                rows[level].append(np.asarray(hit.any(axis=1)))
                columns[level] |= hit.any(axis=0)
        row = Row()
        for level in self.levels():
            row[f"precision@{show(level)}"] = float(columns[level].mean()) if len(pred) else 0.0
            row[f"recall@{show(level)}"] = float(np.concatenate(rows[level]).mean())
        return self.averaged(row | {"n_ref": float(len(ref)), "n_pred": float(len(pred))})

    def many(self, pairs: Sequence[Pair], ctx: Any) -> dict[str, Array]:
        grid = self.grid(pairs)
        near, row = self.cell_hits(grid), dict[str, Array]()
        G, P = grid.shapes.T.astype(np.float64)
        for level in self.levels():
            hit = near(level)
            found = [count_marked(grid, side, grid.gold[hit] if side == 0 else grid.guess[hit]) for side in (0, 1)]
            row[f"precision@{show(level)}"] = np.divide(found[1], P, out=np.zeros(len(grid)), where=P > 0)
            row[f"recall@{show(level)}"] = found[0] / G
        return self.averaged_columns(row | {"n_ref": G, "n_pred": P})

    def averaged(self, row: Row) -> Row:
        precision, recall = (mean([row[f"{n}@{show(x)}"] for x in self.levels()]) for n in ("precision", "recall"))
        return {"precision": precision, "recall": recall, "f1": f1(precision, recall), **row}

    def best(self, rows: list[Row]) -> Row:
        if self.best_by == "f1":
            return super().best(rows)
        numbers = {n for n in rows[0] if "@" in n}
        return self.averaged(
            {n: max(r[n] for r in rows) if n in numbers else rows[0][n] for n in rows[0] if n not in self.fields}
        )

    def best_rows(self, rows: Rows) -> Rows:
        """`best` of every video, column by column."""
        if not len(rows):
            return rows
        if self.best_by == "f1":
            return take_best(rows, self.primary)
        starts = find_runs(rows)
        first = rows.take(starts).as_set(0)
        columns = {
            n: np.maximum.reduceat(c, starts) if "@" in n else first[n]
            for n, c in rows.columns.items()
            if n not in self.fields
        }
        return replace(first, columns=self.averaged_columns(columns))

    def averaged_columns(self, columns: dict[str, Array]) -> dict[str, Array]:
        """`averaged`, column by column."""
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


def count_marked(grid: Grid, side: int, marked: Index) -> Array:
    """How many references (0) or predictions (1) of each pair of stories are marked once or more. [N]"""
    seen = np.bincount(marked, minlength=int(grid.shapes[:, side].sum())) > 0
    return np.bincount(grid.owners(side)[seen], minlength=len(grid)).astype(np.float64)
