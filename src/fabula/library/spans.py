"""From clips to moments: smoothed clip scores and their hills, steps in order, or a trained moment model.

ŝ_t = κ s_t + (1 − κ) (s_{t−1} + s_{t+1}) / 2            a clip that stands alone is worth less than one with neighbours
a hill: from a local peak of ŝ outward while ŝ ≥ m + λ (peak − m),   m: what is usual for this query

A then B: C[i, t] = score of step i at clip t; the best ordered match (match/ordered.py) gives each step a clip,
later steps later clips; the moment reaches from the first to the last of them
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError
from fabula.core.spec import Spec
from fabula.documents.fields import JsonDict
from fabula.library.stage import Track
from fabula.library.store import Store
from fabula.match.nms import nms
from fabula.match.ordered import ordered

Scores = NDArray[np.float64]
OVERLAP = 0.5  # moments of one video that share more are one
HILLS = 5  # of one video
STEP = 1e-6  # by which a model's next moment of a video stands behind the one before


@dataclass(frozen=True)
class Span:
    """A stretch of a video with its score and the clips it is made of, the best first."""

    video: str
    start: float
    end: float
    score: float
    clips: tuple[int, ...]
    steps: tuple[float, ...] = ()  # of steps in order: the score of each


@dataclass(frozen=True, kw_only=True)
class Smooth(Spec):
    """How clip scores become moments."""

    name: ClassVar[str] = "smooth"

    level: float = 0.7  # λ: how far down a hill a moment reaches
    centre: float = 0.75  # κ: what a clip counts beside its neighbours
    longest: float = 120.0  # seconds of a moment, unless a search asks for longer ones

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("level", "centre"):
            if not 0 <= getattr(self, name) <= 1:
                raise SpecError(f"{self.name}: {name}={getattr(self, name):g}; it lies between 0 and 1")
        if not self.longest > 0:
            raise SpecError(f"{self.name}: longest={self.longest:g}; a moment has a positive length")


def smooth(s: Scores, centre: float) -> Scores:
    """ŝ; beyond its ends a video goes on as it ends. [T]"""
    padded = np.concatenate([s[:1], s, s[-1:]])
    out: Scores = centre * s + (1 - centre) * (padded[:-2] + padded[2:]) / 2
    return out


def hills(track: Track, s: Scores, usual: float, how: Smooth) -> Iterator[Span]:
    """The moments of a video by the scores of its clips [T], the highest first; −inf: a clip that does not count."""
    counts = np.isfinite(s)
    if not counts.any():
        return
    level = np.where(counts, smooth(np.where(counts, s, min(usual, float(s[counts].min()))), how.centre), -np.inf)
    free = counts.copy()
    for _ in range(HILLS):
        if not free.any():
            return
        top = int(np.where(free, level, -np.inf).argmax())
        floor = usual + how.level * (level[top] - usual)
        first, last = climb_down(level, free, top, floor, track, how.longest)
        span = np.arange(first, last + 1)
        order = span[np.lexsort((span, -s[span]))]
        yield Span(
            track.video,
            float(track.start[first]),
            float(track.end[last]),
            float(level[top]),
            tuple(int(c) for c in track.clip[order]),
        )
        free[first : last + 1] = False


def climb_down(
    level: Scores, free: NDArray[np.bool_], top: int, floor: float, track: Track, longest: float
) -> tuple[int, int]:
    """From a peak to both sides, the higher neighbour first: while it is free, high enough, the moment not too long."""
    first = last = top
    while True:
        sides = [(level[t], t) for t in (first - 1, last + 1) if 0 <= t < len(level) and free[t] and level[t] >= floor]
        sides = [(h, t) for h, t in sides if track.end[max(t, last)] - track.start[min(t, first)] <= longest]
        if not sides:
            return first, last
        _, t = max(sides)
        first, last = min(first, t), max(last, t)


def in_order(track: Track, steps: Scores, longest: float | None) -> Iterator[Span]:
    """The best clips for steps [K, T] in order: one moment a window of `longest` seconds, or one of the video."""
    K = len(steps)
    for window in windows(track, longest):
        C = steps[:, window]
        counts = np.isfinite(C).all(axis=0)
        at = np.flatnonzero(counts)
        if len(at) < K:
            continue
        C = C[:, counts]
        lift = 1.0 + 2 * K * float(np.abs(C).max())  # so that no step is left out: any K pairs beat any K − 1
        pairs = ordered(C + lift)[1]
        chosen = [window.start + int(at[t]) for _, t in pairs]
        value = float(np.mean([C[i, t] for i, t in pairs]))
        best = sorted(pairs, key=lambda pair: -C[pair])
        yield Span(
            track.video,
            float(track.start[chosen[0]]),
            float(track.end[chosen[-1]]),
            value,
            tuple(int(track.clip[window.start + int(at[t])]) for _, t in best),
            tuple(float(C[pair]) for pair in pairs),
        )


def windows(track: Track, longest: float | None) -> Iterator[slice]:
    """Stretches of clips no longer than this, each beginning half a length after the one before."""
    T = len(track.clip)
    if longest is None or T == 0 or track.end[-1] - track.start[0] <= longest:
        yield slice(0, T)
        return
    begin, covered = float(track.start[0]), -1
    while True:
        i = int(np.searchsorted(track.start, begin))
        j = int(np.searchsorted(track.end, begin + longest, side="right"))
        if j > max(i, covered):
            yield slice(i, j)
            covered = j
        if j >= T or i >= T:
            return
        begin += longest / 2


def best_spans(spans: Sequence[Span], limit: int, length: tuple[float | None, float | None] | None) -> list[Span]:
    """Of all videos' moments the best, those that say the same once, those of another length left out."""
    least, most = length or (None, None)
    fits = [
        s
        for s in spans
        if (least is None or s.end - s.start >= least) and (most is None or s.end - s.start <= most + 1e-9)
    ]
    if not fits:
        return []
    numbers: dict[str, int] = {}
    of = [numbers.setdefault(s.video, len(numbers)) for s in fits]
    best = nms([(s.start, s.end) for s in fits], [s.score for s in fits], OVERLAP, of, limit)
    return [fits[i] for i in best]


class Model:
    """A trained moment model (`fabula train vcmr`), which looks into the videos that the vector stage found.

    It is given the features it was trained on: the store's own clip vectors, or what `extract` makes of the videos'
    files, once a video. Its scores are its own and not calibrated, so a video keeps the rank of its best clip, and
    its moments follow in the model's order.
    """

    def __init__(self, run: str, extract: str | None = None, device: str = "cpu", other_features: bool = False) -> None:
        from fabula.learn.retrieval.moments import moments

        self.finder: Any = moments(run, device=device, extract=extract, other_features=other_features)
        self.run, self.extract = run, extract
        self.encoded: JsonDict = {}
        self.lock = threading.Lock()

    def encode(self, store: Store, track: Track) -> Any:
        """A video as the model reads it, made once."""
        if track.video not in self.encoded:
            if self.extract is not None:
                encoded = self.finder.encode(store.path_of(track.video), track.video)
            else:
                c = self.finder.config
                if c.feature_dim != store.dims:
                    raise InputError(
                        f"a model of features of {c.feature_dim} numbers, and the store's vectors have {store.dims}",
                        file=self.run,
                        hint="name the extractor of its features: --extract NAME",
                    )
                self.finder.check_recipe(store.recipe)
                step = float(np.median(np.diff(track.start))) if len(track.clip) > 1 else float(c.clip)
                encoded = self.finder.encode(track.vector, track.video, rate=1 / step, duration=float(track.end[-1]))
            self.encoded[track.video] = encoded
        return self.encoded[track.video]

    def spans(self, store: Store, track: Track, text: str, s: Scores) -> Iterator[Span]:
        """The model's moments of one video, best first."""
        if not np.isfinite(s).any():
            return
        with self.lock:
            found = self.finder.find(self.encode(store, track), text, top=HILLS)
        counts = np.isfinite(s)
        peak = float(smooth(np.where(counts, s, s[counts].min()), Smooth().centre)[counts].max())
        for place, one in enumerate(found):
            inside = np.flatnonzero((track.start < one.end) & (track.end > one.start) & np.isfinite(s))
            if not len(inside):
                continue
            clips = tuple(int(c) for c in track.clip[inside[np.lexsort((inside, -s[inside]))]])
            yield Span(track.video, one.start, one.end, peak - STEP * place, clips)
