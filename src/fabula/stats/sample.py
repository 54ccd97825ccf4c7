"""A sample: rows laid out by video, so that a resample is a weight for each video.

A video is the unit that is drawn: all its rows (every reference set, every caption, every query) come along or stay
away together, because they are not independent of each other. With w_v how often video v was drawn, and k the
reference sets,

    θ(w) = mean over k of  f( Σ_v w_v·x_vk )        x_vk: what the metric sums, added up over the rows of v in set k

where the metric is such a function of totals (a mean, BLEU's counts, METEOR's statistics): one matrix product for all
resamples. Another fold is called on the rows of each resample in turn.

Videos stand in an order of their own, not in the file's: the same seed draws the same videos however they are listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import SpecError
from fabula.core.rows import Rows

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Key = str | int


class Folding(Protocol):
    """How rows become a number. Every metric is one."""

    @property
    def primary(self) -> str: ...

    def fold(self, rows: Rows) -> Mapping[str, float]: ...

    def sums(self, rows: Rows) -> Array | None: ...

    def of_sums(self, totals: Array) -> Array: ...


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of one column; over reference sets the mean of their means. `plain` is the slow, general path."""

    primary: str = "value"
    plain: bool = False

    def fold(self, rows: Rows) -> Mapping[str, float]:
        means = [float(part[self.primary].mean()) for part in rows.sets()]
        return {self.primary: sum(means) / len(means)}

    def sums(self, rows: Rows) -> Array | None:
        return None if self.plain else np.stack([rows[self.primary], np.ones(len(rows))], axis=1)

    def of_sums(self, totals: Array) -> Array:
        mean: Array = totals[:, 0] / totals[:, 1]
        return mean


@dataclass(frozen=True, slots=True)
class Sample:
    """One system's rows under one metric, and the videos over which they are resampled."""

    rows: Rows  # by video, reference set and key
    folding: Folding
    value: float  # θ of the rows as they came
    videos: tuple[Key, ...]  # V; a video without rows (missing=drop) adds nothing
    at: NDArray[np.int64]  # [R] the video of each row
    totals: Array | None  # [V, K, k + 1] what is summed, and how many rows there are; None: fold each resample

    @classmethod
    def of(cls, rows: Rows, folding: Folding, videos: Sequence[Key] | None = None) -> Sample:
        if not len(rows):
            raise SpecError("there are no rows to resample")
        value = float(folding.fold(rows)[folding.primary])
        videos = in_order(rows.drawn) if videos is None else tuple(videos)
        place = {v: i for i, v in enumerate(videos)}
        at = np.fromiter(map(place.__getitem__, rows.drawn), np.int64, len(rows))
        if rows.clusters is None:  # a video has one key
            order = np.lexsort((rows.refset, at))
        else:
            lines = zip(at.tolist(), rows.refset.tolist(), map(repr, rows.keys), range(len(rows)), strict=True)
            order = np.array([i for *_, i in sorted(lines)])
        rows, at = rows.take(order), at[order]
        sums = folding.sums(rows)
        if sums is None:
            return cls(rows, folding, value, videos, at, None)
        sets, k = np.unique(rows.refset, return_inverse=True)
        totals = np.zeros((len(videos), len(sets), sums.shape[1] + 1))
        np.add.at(totals, (at, k), np.column_stack([sums, np.ones(len(rows))]))
        return cls(rows, folding, value, videos, at, totals)

    def under(self, W: Array) -> Array:
        """θ under each line of weights W [B, V] → [B]."""
        if self.totals is None:
            return np.array([self.folded(w) for w in W])
        V, K, k = self.totals.shape
        return self.of_totals((W @ self.totals.reshape(V, K * k)).reshape(len(W), K, k))

    def of_totals(self, totals: Array) -> Array:
        """[B, K, k + 1] → [B]: each reference set on its own, then their mean; a set nobody drew does not count."""
        B, K, _ = totals.shape
        drawn = totals[..., -1] > 0.5  # [B, K]
        values = np.zeros((B, K))
        for s in range(K):
            values[drawn[:, s], s] = self.folding.of_sums(totals[drawn[:, s], s, :-1])
        mean: Array = values.sum(axis=1) / np.maximum(drawn.sum(axis=1), 1)
        return mean

    def folded(self, w: Array) -> float:
        """θ by the fold itself."""
        index = np.repeat(np.arange(len(self.rows)), np.rint(w[self.at]).astype(np.int64))
        return float(self.folding.fold(self.rows.take(index))[self.folding.primary]) if len(index) else 0.0


def samples(tables: Sequence[tuple[Rows, Folding]]) -> list[Sample]:
    """Samples over the same videos, so that one draw serves them all."""
    videos = in_order(key for rows, _ in tables for key in rows.drawn)
    return [Sample.of(rows, folding, videos) for rows, folding in tables]


def in_order(keys: Iterable[Key]) -> tuple[Key, ...]:
    """Each key once, by what Python writes for it: numbers, text and tuples have an order beside each other."""
    return tuple(sorted(set(keys), key=repr))


def number(names: Sequence[object]) -> Index:
    """Names as numbers, by first appearance."""
    place: dict[object, int] = {}
    return np.array([place.setdefault(name, len(place)) for name in names], dtype=np.int64)


def alike(by_name: Mapping[str, list[Sample]]) -> list[list[str]]:
    """Metrics grouped by the videos they stand over."""
    groups: dict[tuple[Key, ...], list[str]] = {}
    for metric, line in by_name.items():
        groups.setdefault(line[0].videos, []).append(metric)
    return list(groups.values())
