"""The vector stage: which clips lie nearest to a query. Exact below 100,000 clips, by an index above; chosen and said.

    exact    s = M q, all N scores at once (numpy's matrix product), and the k largest of them
    index    Lance's inverted lists (ann.py): some lists are read, and their clips compared as they are

An index is taken only where it was measured with text queries and found what the exact search finds; else the search
stays exact. A search within some videos is always exact: their clips are few.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError
from fabula.core.memory import require
from fabula.library.store import Store, Vectors, Video

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
EXACT_BELOW = 100_000  # clips
THIN = 8
BLOCK = 1 << 16  # clips compared at once with many queries: their scores stay in the processor's cache


class Track(NamedTuple):
    """The clips of one video in the order of time. T clips."""

    video: str
    clip: Ints  # [T]
    vector: Floats  # [T, D]
    start: NDArray[np.float64]  # [T] seconds
    end: NDArray[np.float64]


class Hits(NamedTuple):
    """Clips that lie nearest, the nearest first."""

    clip: Ints  # [k]
    video: list[str]  # [k]
    score: Floats  # [k]


@dataclass(frozen=True)
class Choice:
    """Which stage, and why."""

    stage: Literal["exact", "index"]
    why: str


def top_rows(matrix: Floats, queries: Floats, k: int) -> tuple[Ints, Floats]:
    """The k rows of M with the largest products with each query, the largest first: [B, k] which, [B, k] products.

    One query: one product, one selection. Many: blocks of rows, of which only what beats the k-th best so far is kept.
    """
    k = min(k, len(matrix))
    if len(queries) == 1:
        s = matrix @ queries[0]  # [N]
        at = largest(s, k)
        at = at[np.lexsort((at, -s[at]))]
        return at[None], s[at][None]
    rows = np.zeros((len(queries), 0), np.int64)
    best = np.zeros((len(queries), 0), np.float32)
    for i in range(0, len(matrix), BLOCK):
        s = queries @ matrix[i : i + BLOCK].T  # [B, n]
        rows, best = keep_best(rows, best, s, i, k)
    return rows, best


def largest(s: Floats, k: int) -> Ints:
    """Where the k largest of s stand; of equal ones the first.

    Every eighth number says where twice as many lie; where those are k or more, the others need no sorting.
    """
    if k >= len(s):
        return np.arange(len(s))
    thinned = s[::THIN]
    if len(thinned) > (rank := max(2 * k // THIN, THIN)):
        at = np.flatnonzero(s >= np.partition(thinned, len(thinned) - rank)[len(thinned) - rank])
        if k <= len(at) < len(s) // 2:
            return at[largest_of(s[at], k)]
    return largest_of(s, k)


def largest_of(s: Floats, k: int) -> Ints:
    """The same, by a partition of all."""
    border = np.partition(s, len(s) - k)[len(s) - k]
    above = np.flatnonzero(s > border)
    return np.concatenate([above, np.flatnonzero(s == border)[: k - len(above)]])


def keep_best(rows: Ints, best: Floats, s: Floats, offset: int, k: int) -> tuple[Ints, Floats]:
    """The k best of what is kept and of a further block s [B, n]; sorted."""
    width = min(k, best.shape[1] + s.shape[1])
    out_rows, out_best = np.empty((len(s), width), np.int64), np.empty((len(s), width), np.float32)
    for b, row in enumerate(s):
        full = best.shape[1] >= k
        at = np.flatnonzero(row > best[b, -1]) if full else largest(row, k)  # an equal later row changes nothing
        if len(at) > 4 * k:
            at = at[largest(row[at], k)]
        which = np.concatenate([rows[b], at + offset])
        value = np.concatenate([best[b], row[at]])
        order = np.lexsort((which, -value))[:width]
        out_rows[b], out_best[b] = which[order], value[order]
    return out_rows, out_best


class Exact:
    """All clips of a store, or those of some videos, in memory."""

    def __init__(self, videos: Sequence[Video], clips: Vectors) -> None:
        self.names = [video.video for video in videos]
        self.clips = clips

    @classmethod
    def of(cls, store: Store) -> Exact:
        """All of a store; refused where it does not fit."""
        need = len(store) * (store.dims * 4 + 36)
        hint = "search within some videos, or build an index: fabula search --store DIR --build-index"
        if "vectors" not in store.cache:
            require(need, f"an exact search of {len(store):,} clips", hint)
        return cls(*store.snapshot())

    @classmethod
    def within(cls, store: Store, names: Sequence[str]) -> Exact:
        """Those of some videos alone, read from the tables."""
        known = {video.video: video for video in store.videos()}
        videos = [known[name] for name in dict.fromkeys(names)]
        table = store.clips([video.video for video in videos], (*COLUMNS, "vector"))
        index = {video.video: i for i, video in enumerate(videos)}
        of = np.array([index[name] for name in table["video"].to_pylist()], np.int32)
        flat = [np.asarray(c.values.to_numpy(zero_copy_only=False)) for c in table["vector"].chunks]
        vector = np.concatenate(flat) if flat else np.zeros(0, np.float32)
        columns = (table[name].to_numpy() for name in ("clip", "start", "end"))
        clip, start, end = columns
        return cls(videos, Vectors(clip, vector.reshape(len(clip), store.dims), of, start, end))

    @cached_property
    def bounds(self) -> Mapping[int, tuple[int, int]]:
        """Where the clips of a video stand."""
        of = self.clips.video
        edges = np.flatnonzero(np.diff(of, prepend=-1))
        stops = [*edges[1:].tolist(), len(of)]
        return {int(of[i]): (i, j) for i, j in zip(edges.tolist(), stops, strict=True)}

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.clips.clip)

    def top(self, q: Floats, k: int, allowed: NDArray[np.bool_] | None = None) -> Hits:
        """The k clips nearest to q [D], among those allowed [N]."""
        if not len(self):
            return Hits(np.zeros(0, np.int64), [], np.zeros(0, np.float32))
        if allowed is None:
            rows, best = (x[0] for x in top_rows(self.clips.vector, q[None], k))
        else:
            permitted = np.flatnonzero(allowed)
            at, best = (x[0] for x in top_rows(self.clips.vector[permitted], q[None], k))
            rows = permitted[at]
        return Hits(self.clips.clip[rows], [self.names[v] for v in self.clips.video[rows].tolist()], best)

    def tracks(self, videos: Sequence[str]) -> Iterator[Track]:
        for name in videos:
            i, j = self.bounds.get(self.numbers[name], (0, 0))
            c = self.clips
            yield Track(name, c.clip[i:j], c.vector[i:j], c.start[i:j], c.end[i:j])

    def near(self, hits: Hits, videos: Sequence[str]) -> Iterator[Track]:
        """The clips around hits: here of their whole videos."""
        return self.tracks(videos)

    def in_order_of_clips(self) -> list[str]:
        """Videos as their clips stand."""
        return [self.names[v] for v in self.bounds]

    def sample(self, n: int) -> Floats:
        """Clips at even steps: what is usual in this store. [≤ n, D]"""
        step = max(1, len(self) // n)
        return self.clips.vector[::step][:n]


COLUMNS = ("clip", "video", "start", "end")


class Indexed:
    """A store asked through its index; of clips nothing is held but a sample."""

    def __init__(self, store: Store, plan: Any) -> None:
        self.store, self.plan = store, plan

    def __len__(self) -> int:
        return len(self.store)

    def top(self, q: Floats, k: int, allowed: NDArray[np.bool_] | None = None) -> Hits:
        """Of all clips: a search within some is exact."""
        assert allowed is None
        from fabula.library import ann

        return ann.ask(self.store, self.plan, q, k)

    def tracks(self, videos: Sequence[str]) -> Iterator[Track]:
        return Exact.within(self.store, videos).tracks(videos)

    def near(self, hits: Hits, videos: Sequence[str]) -> Iterator[Track]:
        """The clips around hits, some before and behind each; a video may come in several stretches."""
        from fabula.library import ann

        return ann.around(self.store, hits, videos)

    @cached_property
    def samples(self) -> dict[int, Floats]:
        return {}

    def sample(self, n: int) -> Floats:
        from fabula.library import ann

        if n not in self.samples:
            self.samples[n] = ann.sample(self.store, n)
        return self.samples[n]


def choose(store: Store) -> tuple[Exact | Indexed, Choice]:
    """The stage that a store is searched with, and why."""
    from fabula.library import ann

    n = len(store)
    if n <= EXACT_BELOW:
        return Exact.of(store), Choice("exact", f"{n:,} clips: up to {EXACT_BELOW:,} all are compared")
    plan, why = ann.open_plan(store)
    if plan is None:
        return Exact.of(store), Choice("exact", f"{n:,} clips, and {why}")
    return Indexed(store, plan), Choice("index", f"{n:,} clips: {plan}")


def check_videos(store: Store, names: Sequence[str]) -> list[str]:
    """Videos as a store calls them: by their whole name, or by its last part where only one ends so."""
    every = [video.video for video in store.videos() if video.clips]
    out: list[str] = []
    for name in names:
        found = [v for v in every if v == name] or [v for v in every if v.endswith(f"/{name}")]
        found = found or [v for v in every if v.rpartition("/")[2].rpartition(".")[0] == name]
        if not found:
            from fabula.core.registry import close_to

            raise InputError("no video of this store has clips under this name", video=name, hint=close_to(name, every))
        if len(found) > 1:
            raise InputError(
                f"{len(found)} videos are called so", video=name, hint=f"write the whole name, as {found[0]}"
            )
        out.append(found[0])
    return list(dict.fromkeys(out))
