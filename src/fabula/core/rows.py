"""Rows: the table a metric keeps, one line per video (and reference set). Every score is a fold over it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Rows:
    """Columns of equal length. `video` and `refset` say whose row it is; the others are numbers of the metric."""

    video: tuple[str, ...]
    refset: NDArray[np.int64]  # [R] which reference set, 0 where sets are merged or the best one was taken
    columns: Mapping[str, NDArray[np.float64]]  # name → [R]

    @classmethod
    def of(cls, dicts: Iterable[Mapping[str, Any]]) -> Rows:
        """From one mapping per row: {"video": id, "refset": k, column: number, …}."""
        table = list(dicts)
        names = [n for n in table[0] if n not in ("video", "refset")] if table else []
        return cls(
            video=tuple(r["video"] for r in table),
            refset=np.array([r.get("refset", 0) for r in table], dtype=np.int64),
            columns={n: np.array([r[n] for r in table], dtype=np.float64) for n in names},
        )

    def __len__(self) -> int:
        return len(self.video)

    def __getitem__(self, column: str) -> NDArray[np.float64]:
        return self.columns[column]

    def take(self, index: Sequence[int] | NDArray[np.int64]) -> Rows:
        """The rows at these places, as often as they are named: a bootstrap sample, a shard, a slice."""
        at = np.asarray(index, dtype=np.int64)
        return Rows(tuple(self.video[i] for i in at), self.refset[at], {n: c[at] for n, c in self.columns.items()})

    def sets(self) -> list[Rows]:
        """One table per reference set."""
        kinds = np.unique(self.refset)
        return [self] if len(kinds) < 2 else [self.take(np.flatnonzero(self.refset == k)) for k in kinds]

    def by_video(self, column: str) -> dict[str, float]:
        """One number a video: the mean over its reference sets."""
        found: dict[str, list[float]] = {}
        for video, number in zip(self.video, self[column].tolist(), strict=True):
            found.setdefault(video, []).append(number)
        return {video: sum(numbers) / len(numbers) for video, numbers in found.items()}

    def dicts(self) -> Iterator[dict[str, Any]]:
        """The inverse of `of`; whole numbers stay whole in JSON."""
        for i, video in enumerate(self.video):
            yield {"video": video, "refset": int(self.refset[i])} | {n: float(c[i]) for n, c in self.columns.items()}
