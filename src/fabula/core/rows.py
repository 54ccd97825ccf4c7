"""Rows: the table a metric keeps, one line per video (and reference set) or per item. Every score is a fold over it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.core.memory import require

RowDict = dict[str, Any]  # ids, numbers, and lists of numbers
CROWDED = "crowded"  # the one column that is there only where it is not 0


@dataclass(frozen=True, slots=True)
class Rows:
    """Columns of equal length. `keys` and `refset` say whose row it is; the others are numbers of the metric."""

    keys: tuple[str | int, ...]
    refset: NDArray[np.int64]  # [R] which reference set, 0 where sets are merged or the best one was taken
    columns: Mapping[str, NDArray[np.float64]]  # name → [R], or [R, k] for a column of k statistics
    unit: str = "video"  # what a row is: "video", or "id" of an item
    clusters: tuple[str | int, ...] | None = None  # what is drawn together, where that is not the key: a query's video

    @classmethod
    def of(cls, dicts: Iterable[Mapping[str, Any]], unit: str = "video") -> Rows:
        """From one mapping per row: {unit: id, "refset": k, column: number, …}."""
        table = list(dicts)
        names = [n for n in table[0] if n not in (unit, "refset", CROWDED)] if table else []
        crowded = [r.get(CROWDED, 0.0) for r in table]
        return cls(
            keys=tuple(r[unit] for r in table),
            unit=unit,
            refset=np.array([r.get("refset", 0) for r in table], dtype=np.int64),
            columns={n: np.array([r[n] for r in table], dtype=np.float64) for n in names}
            | ({CROWDED: np.array(crowded, dtype=np.float64)} if any(crowded) else {}),
        )

    @classmethod
    def joined(cls, parts: Sequence[Rows]) -> Rows:
        """One table below the other. Lists that are padded with zeros are padded to the longest of all."""
        full = [part for part in parts if len(part)] or list(parts[:1])
        if len(full) < 2:
            return full[0] if full else cls.of([])
        return cls(
            keys=tuple(key for part in full for key in part.keys),
            refset=np.concatenate([part.refset for part in full]),
            columns={n: stack([p[n] for p in full]) for n in full[0].columns if all(n in p.columns for p in full)}
            | ({CROWDED: np.concatenate([p.crowded for p in full])} if any(CROWDED in p.columns for p in full) else {}),
            unit=full[0].unit,
            clusters=None if full[0].clusters is None else tuple(c for part in full for c in part.drawn),
        )

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, column: str) -> NDArray[np.float64]:
        return self.columns[column]

    @property
    def crowded(self) -> NDArray[np.float64]:
        """How many pairs of each row count as 0 because their captions are beyond the scorer. [R]"""
        return self.columns[CROWDED] if CROWDED in self.columns else np.zeros(len(self))

    def take(self, index: Sequence[int] | NDArray[np.int64]) -> Rows:
        """The rows at these places, as often as they are named: a bootstrap sample, a shard, a slice."""
        at = np.asarray(index, dtype=np.int64)
        places = at.tolist()
        columns = {n: c[at] for n, c in self.columns.items()}
        clusters = None if self.clusters is None else tuple(map(self.clusters.__getitem__, places))
        return Rows(tuple(map(self.keys.__getitem__, places)), self.refset[at], columns, self.unit, clusters)

    def as_set(self, number: int) -> Rows:
        """The same rows as those of one reference set."""
        return replace(self, refset=np.full(len(self), number, dtype=np.int64))

    @property
    def drawn(self) -> tuple[str | int, ...]:
        """What each row comes and goes with when videos are resampled."""
        return self.keys if self.clusters is None else self.clusters

    def sets(self) -> list[Rows]:
        """One table per reference set."""
        kinds = sorted(set(self.refset.tolist()))  # np.unique would load numpy.ma
        return [self] if len(kinds) < 2 else [self.take(np.flatnonzero(self.refset == k)) for k in kinds]

    def by_key(self, column: str) -> dict[str | int, float]:
        """One number a video (or item): the mean over its reference sets."""
        found: dict[str | int, list[float]] = {}
        for key, number in zip(self.keys, self[column].tolist(), strict=True):
            found.setdefault(key, []).append(number)
        return {key: sum(numbers) / len(numbers) for key, numbers in found.items()}

    def dicts(self) -> Iterator[RowDict]:
        """The inverse of `of`."""
        for i, key in enumerate(self.keys):
            yield {self.unit: key, "refset": int(self.refset[i])} | {n: c[i].tolist() for n, c in self.columns.items()}


def wide(rows: Mapping[str, Rows]) -> list[RowDict]:
    """All metrics side by side: {"video", "refset", "SODA_c.f1": …, "mIoU": …}; absent where there is no such row."""
    table: dict[tuple[str | int, int], RowDict] = {}
    for metric, part in rows.items():
        for row in part.dicts():
            key, refset = row.pop(part.unit), row.pop("refset")
            whose = {part.unit: key} if part.unit == "id" else {part.unit: key, "refset": refset}
            place = table.setdefault((key, refset), whose)
            place |= {metric if c == "value" else f"{metric}.{c}": number for c, number in row.items()}
    return list(table.values())


@dataclass(frozen=True, slots=True)
class Units:
    """The rows of a table unit by unit: those of unit u stand at order[starts[u]] … order[starts[u + 1] - 1]."""

    place: Mapping[str | int, int]  # u of each key, by first appearance
    of: NDArray[np.int64]  # [R] u of each row
    order: NDArray[np.int64]  # [R]
    counts: NDArray[np.int64]  # [U]

    def __len__(self) -> int:
        return len(self.place)

    def rows(self, u: int) -> NDArray[np.int64]:
        """Where the rows of a unit stand, in their order."""
        start = int(self.starts[u])
        return self.order[start : start + int(self.counts[u])]

    @property
    def starts(self) -> NDArray[np.int64]:
        found: NDArray[np.int64] = np.cumsum(self.counts) - self.counts
        return found


@lru_cache(maxsize=4)  # tables of the same units stand side by side by the hundred
def group_keys(keys: tuple[str | int, ...]) -> Units:
    """Which rows belong together, by their keys."""
    place: dict[str | int, int] = {}
    of = np.fromiter((place.setdefault(key, len(place)) for key in keys), np.int64, len(keys))
    return Units(place, of, np.argsort(of, kind="stable"), np.bincount(of, minlength=len(place)))


def stack(columns: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """[R, …] each, one below the other; of lists, the shorter ones filled up with zeros."""
    if columns[0].ndim > 1:
        width = max(c.shape[1] for c in columns)
        rows = sum(map(len, columns))
        hint = "score in parts, or leave out what a system is least sure of where it says most"
        require(16 * rows * width, f"a table of {rows} rows, the longest with {width} records,", hint)
        columns = [np.pad(c, ((0, 0), (0, width - c.shape[1]))) for c in columns]
    return np.concatenate(columns)
