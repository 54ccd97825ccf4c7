"""The vector stage: which clips lie nearest to a query. All are compared, from codes; by an index where one was built.

    exact    a scan of one-byte codes, then the rows that their error cannot exclude (nearest.py): the list that
             comparing all clips gives, certified; up to 100,000 clips from memory, above from mapped files (mapped.py)
    index    Lance's inverted lists (ann.py): some lists are read; for those who accept that clips are missed

A search within some videos is a mark for each clip. It is always exact.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError
from fabula.core.memory import require
from fabula.library.lance import numbers
from fabula.library.mapped import open_mapped
from fabula.library.nearest import Codes, Floats, Ints, Marks, encode, nearest
from fabula.library.store import COLUMNS, Store, Vectors

IN_MEMORY = 100_000  # clips whose vectors are held; those of more are mapped files


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


class Exact:
    """All clips of a store, or those of some videos."""

    def __init__(
        self, names: Sequence[str], clips: Vectors, codes: Codes | None = None, only: Collection[str] | None = None
    ) -> None:
        self.names, self.clips, self.only = list(names), clips, only
        if codes is not None:
            self.codes = codes

    @classmethod
    def of(cls, store: Store) -> Exact:
        """All of a store; refused where it does not fit."""
        n = len(store)
        if n > IN_MEMORY and (mapped := open_mapped(store)) is not None:
            return cls(*mapped)
        if "vectors" not in store.cache:
            hint = "search within some videos, or build an index: fabula search --store DIR --build-index"
            require(n * (store.dims * 5 + 76), f"an exact search of {n:,} clips", hint)
        videos, clips = store.snapshot()
        return cls([video.video for video in videos], clips)

    @classmethod
    def within(cls, store: Store, names: Sequence[str]) -> Exact:
        """Those of some videos alone, read from the tables."""
        wanted = list(dict.fromkeys(names))
        table = store.clips(wanted, (*COLUMNS, "vector"))
        index = {name: i for i, name in enumerate(wanted)}
        of = np.array([index[name] for name in table["video"].to_pylist()], np.int32)
        flat = [numbers(c.values) for c in table["vector"].chunks]
        vector = np.concatenate(flat) if flat else np.zeros(0, np.float32)
        clip, start, end = (numbers(table[name]) for name in ("clip", "start", "end"))
        return cls(wanted, Vectors(clip, vector.reshape(len(clip), store.dims), of, start, end))

    def part(self, names: Collection[str]) -> Exact:
        """The same clips, of which those of some videos count."""
        some = Exact(self.names, self.clips, self.codes, frozenset(names))
        some.bounds, some.numbers = self.bounds, self.numbers
        return some

    @cached_property
    def codes(self) -> Codes:
        return encode(self.clips.vector)

    @cached_property
    def rows(self) -> Ints | None:
        """Which rows count; None where all do."""
        if self.only is None:
            return None
        own = [np.arange(i, j) for v, (i, j) in self.bounds.items() if self.names[v] in self.only]
        return np.concatenate(own) if own else np.zeros(0, np.int64)

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
        return len(self.clips.clip) if self.rows is None else len(self.rows)

    def top(self, q: Floats, k: int, allowed: Marks | None = None) -> Hits:
        """The k clips nearest to q [D], among those allowed [N]; of equal ones the first clip."""
        marks = allowed
        if self.rows is not None:
            marks = np.zeros(len(self.clips.clip), dtype=bool)
            marks[self.rows] = True if allowed is None else allowed
        found = nearest(self.codes, self.clips.vector, q, k, marks)
        names = [self.names[v] for v in self.clips.video[found.row].tolist()]
        return Hits(self.clips.clip[found.row], names, found.score.astype(np.float32))

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
        named = (self.names[v] for v in self.bounds)
        return [name for name in named if self.only is None or name in self.only]

    def sample(self, n: int) -> Floats:
        """Clips at even steps: what is usual in this store. [≤ n, D]"""
        step = max(1, len(self) // n)
        if self.rows is None:
            return self.clips.vector[::step][:n]
        return self.clips.vector[self.rows[::step][:n]]


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
    plan, why = ann.open_plan(store) if n > IN_MEMORY else (None, "")
    if plan is not None:
        return Indexed(store, plan), Choice("index", f"{n:,} clips: {plan}")
    return Exact.of(store), Choice("exact", f"{n:,} clips: all are compared{why and f'; {why}'}")


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
