"""The search itself: a query becomes vectors, vectors find clips, clips become moments, and "nothing" can be said.

    one part      q = e                                   e: its embedding, of length 1
    several       q = Σ w_k e_k / σ_k, to length 1        σ_k: the spread of e_k · c over the store's clips c
    s = q · c                                             clips by the vector stage (stage.py)
    moments from clips by smoothing, in order, or by a trained model (spans.py)
    p = P(the library has an answer | s)                  where the store is calibrated (calibrate.py)

Pictures lie nearer to clips than words do, and their scores differ more: without σ a picture would drown the words.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError
from fabula.documents.fields import JsonDict
from fabula.library.calibrate import Calibration
from fabula.library.nearest import Floats
from fabula.library.people import People, seen_in
from fabula.library.query import Part, Query, Step, parse
from fabula.library.spans import Model, Smooth, Span, best_spans, hills, in_order
from fabula.library.stage import Choice, Exact, Hits, Indexed, Track, check_videos, choose
from fabula.library.store import Store

if TYPE_CHECKING:
    from fabula.library.embedders.base import Embedder
    from fabula.media.people.cast import Cast

SAMPLE = 4096  # clips that say what is usual
CLIPS = 10  # clips that are looked for, for each moment that is asked for …
LEAST = 200  # … and at least
VIDEOS = 3  # videos looked into, for each moment
LOOKED_INTO = 200  # videos looked into for steps in order
KEPT = 1024  # vectors of words and pictures that are kept
MOST = 1000  # moments of one answer


@dataclass(frozen=True)
class Moment:
    """A stretch of a video that may be what was asked for."""

    video: str
    start: float  # seconds
    end: float
    score: float
    probability: float | None = None  # None: the store is not calibrated
    clips: tuple[int, ...] = ()  # clips it is made of, the best first: `store.thumb(clips[0])` is its picture


@dataclass(frozen=True)
class SearchResult:
    """An answer: moments, best first, or nothing; and how it was come by."""

    query: Query
    moments: tuple[Moment, ...]
    probability: float | None = None  # that the library has an answer at all
    stage: Literal["exact", "index"] = "exact"
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    why: str = ""  # this stage

    @property
    def nothing(self) -> bool:
        return not self.moments

    def document(self) -> JsonDict:
        """As JSON."""
        return {
            "query": str(self.query),
            "nothing": self.nothing,
            "probability": self.probability,
            "stage": self.stage,
            "why": self.why,
            "seconds": self.seconds,
            "notes": list(self.notes),
            "moments": [
                {
                    "video": m.video,
                    "start": m.start,
                    "end": m.end,
                    "score": m.score,
                    "probability": m.probability,
                    "clips": list(m.clips),
                }
                for m in self.moments
            ],
        }


class Aim(NamedTuple):
    """A step as a vector, and what is usual for it in this store."""

    q: Floats  # [D] of length 1
    mean: float  # of q · c over clips
    spread: float

    def lift(self, s: Any) -> Any:
        """How many spreads above what is usual."""
        return (s - self.mean) / self.spread


class Place(NamedTuple):
    """Where to look: the stage, and of people when they are seen."""

    stage: Exact | Indexed
    choice: Choice
    times: dict[str, list[NDArray[np.float64]]] | None = None


class Searcher:
    """A store that is asked: thread-safe, to be kept; it sees what an index run adds meanwhile."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        *,
        cast: Cast | None = None,
        model: Model | None = None,
        how: Smooth | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        """`cast`: people of features/people, to search within; `calibration`: else the one beside the store."""
        self.store, self.embedder, self.model = store, embedder, model
        self.cast, self.how = cast, how or Smooth()
        self.calibration = calibration if calibration is not None else Calibration.beside(store)
        self.lock = threading.Lock()
        self.vectors: dict[Part, Floats] = {}
        self.chosen: tuple[str, Exact | Indexed, Choice] | None = None

    # ── asked ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def find(
        self,
        query: str | Query,
        limit: int = 20,
        *,
        videos: Sequence[str] | None = None,
        people: Sequence[str] | None = None,
        length: tuple[float | None, float | None] | None = None,
        min_probability: float | None = None,
    ) -> SearchResult:
        """The moments that answer a query best. Text names no file here: `parse` it first where it may."""
        began = time.perf_counter()
        parsed = parse(query, pictures=False) if isinstance(query, str) else query
        self.check(limit, length, min_probability)
        place = self.place([*parsed.videos, *(videos or ())], [*parsed.people, *(people or ())])
        notes = [*parsed.remarks, *([f"{self.embedder.name}: {weak}"] if (weak := self.embedder.weak) else [])]
        aims = [self.aim(step, place.stage, notes) for step in parsed.steps]
        spans: list[Span] = []
        known = [aim for aim in aims if aim is not None]
        if len(known) == len(aims) and len(place.stage):
            spans = best_spans(list(self.spans(parsed, known, place, limit, length)), limit, length)
        moments = [self.moment(span, known) for span in spans]
        probability = max((m.probability for m in moments if m.probability is not None), default=None)
        if self.calibration is not None:
            probability = 0.0 if probability is None else probability
            if not parsed.plain:
                notes.append("calibrated on queries of one text: the probability of this one is a guess")
        if min_probability is not None:
            moments = [m for m in moments if (m.probability or 0.0) >= min_probability]
        seconds = time.perf_counter() - began
        return SearchResult(
            parsed, tuple(moments), probability, place.choice.stage, seconds, tuple(notes), place.choice.why
        )

    def check(
        self, limit: int, length: tuple[float | None, float | None] | None, min_probability: float | None
    ) -> None:
        """What cannot be answered costs one line."""
        if not 1 <= limit <= MOST:
            raise SpecError(f"a limit of {limit}; between 1 and {MOST:,} moments can be asked for")
        least, most = length or (None, None)
        for seconds in (least, most):
            if seconds is not None and not 0 <= seconds < float("inf"):
                raise SpecError(f"a length of {seconds:g} s; it is a number of seconds")
        if least is not None and most is not None and least > most:
            raise SpecError(f"a length from {least:g} to {most:g} s; the first is the smaller")
        if min_probability is not None:
            if not 0 <= min_probability <= 1:
                raise SpecError(f"a probability of {min_probability:g}; it lies between 0 and 1")
            if self.calibration is None:
                raise SpecError(
                    "the store is not calibrated, so nothing has a probability; "
                    "run: fabula search --store DIR --calibrate queries.jsonl"
                )

    # ── where ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def stage(self) -> tuple[Exact | Indexed, Choice]:
        """The stage of the rows that are there now."""
        with self.lock:
            version = self.store.version
            if self.chosen is None or self.chosen[0] != version:
                self.chosen = (version, *choose(self.store))
            return self.chosen[1:]

    def place(self, videos: Sequence[str], people: Sequence[str]) -> Place:
        stage, choice = self.stage()
        if not videos and not people:
            return Place(stage, choice)
        named = check_videos(self.store, videos) if videos else [v.video for v in self.store.videos() if v.clips]
        times = None
        if people:
            if self.cast is None:
                raise SpecError("people are searched for in a store of people; name one: --people people.npz")
            times = People(self.cast, [v.video for v in self.store.videos()]).times(people)
            named = [video for video in named if video in times]
        subset = stage.part(named) if isinstance(stage, Exact) else Exact.within(self.store, named)
        return Place(
            subset, Choice("exact", f"{len(subset):,} clips of {len(named):,} videos: all are compared"), times
        )

    # ── what ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def vector(self, part: Part) -> Floats:
        """A part's embedding, kept."""
        with self.lock:
            if part not in self.vectors:
                if len(self.vectors) >= KEPT:
                    self.vectors.clear()
                if part.picture:
                    self.vectors[part] = self.embedder.image(read_picture(part))
                else:
                    self.vectors[part] = self.embedder.texts([part.what])[0]
            return self.vectors[part]

    def aim(self, step: Step, stage: Exact | Indexed, notes: list[str]) -> Aim | None:
        """A step's vector; None where the embedder knows nothing of what is looked for."""
        vectors = [(part, self.vector(part)) for part in step]
        for part, e in vectors:
            if not e.any():
                notes.append(f"{self.embedder.name} knows nothing of {part.what!r}")
        known = [(part, e) for part, e in vectors if e.any()]
        if not any(part.weight > 0 for part, _ in known):
            return None
        sample = stage.sample(SAMPLE)  # [S, D]
        if len(step) == 1:
            q = known[0][1]
        else:
            q = np.sum([part.weight / spread_of(sample @ e) * e for part, e in known], axis=0, dtype=np.float32)
            q = q / max(float(np.linalg.norm(q)), 1e-12)
        usual = sample @ q
        return Aim(q, float(usual.mean()) if len(usual) else 0.0, spread_of(usual))

    # ── found ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def spans(self, query: Query, aims: list[Aim], place: Place, limit: int, length: Any) -> Iterator[Span]:
        """Moments of the videos in which the nearest clips lie."""
        most = length[1] if length else None
        k = max(LEAST, CLIPS * limit)
        allowed = self.allowed(place)
        if len(aims) > 1:
            for track in self.candidates(aims, place, k, allowed):
                steps = np.stack([aim.lift(track.vector @ aim.q).astype(np.float64) for aim in aims])  # [K, T]
                steps[:, ~self.counts(track, place)] = -np.inf
                yield from in_order(track, steps, most)
            return
        (aim,) = aims
        hits = place.stage.top(aim.q, k, allowed)
        names = list(dict.fromkeys(hits.video))[: max(VIDEOS * limit, 10)]
        text = query.steps[0][0].what
        how = self.how if most is None or most >= self.how.longest else replace(self.how, longest=most)
        whole = self.model is not None and query.plain
        tracks = place.stage.tracks(names) if whole else place.stage.near(hits, names)
        for track in tracks:
            s = (track.vector @ aim.q).astype(np.float64)  # [T]
            s[~self.counts(track, place)] = -np.inf
            if whole and self.model is not None:
                yield from self.model.spans(self.store, track, text, s)
            else:
                yield from hills(track, s, aim.mean, how)

    def allowed(self, place: Place) -> NDArray[np.bool_] | None:
        """Which of the stage's clips count, where people are asked for. [N]"""
        if place.times is None or not isinstance(place.stage, Exact):
            return None
        parts = [self.counts(track, place) for track in place.stage.tracks(place.stage.in_order_of_clips())]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=bool)

    @staticmethod
    def counts(track: Track, place: Place) -> NDArray[np.bool_]:
        if place.times is None:
            return np.ones(len(track.clip), dtype=bool)
        return seen_in(track, place.times[track.video])

    def candidates(self, aims: list[Aim], place: Place, k: int, allowed: NDArray[np.bool_] | None) -> Iterator[Track]:
        """Videos that have good clips for steps in order: those near to every step first."""
        best: list[dict[str, float]] = []
        for aim in aims:
            hits: Hits = place.stage.top(aim.q, k * 5, allowed)
            found: dict[str, float] = {}
            for video, score in zip(hits.video, aim.lift(hits.score).tolist(), strict=True):
                found.setdefault(video, score)
            best.append(found)
        least = [min(found.values(), default=0.0) for found in best]  # a video that is not among the hits has no better
        names = list(dict.fromkeys(video for found in best for video in found))
        total = {v: sum(f.get(v, low) for f, low in zip(best, least, strict=True)) for v in names}
        names.sort(key=lambda video: -total[video])
        return place.stage.tracks(names[:LOOKED_INTO])

    def best_score(self, query: Query) -> tuple[float, float] | None:
        """Score and lift of the best moment of a plain query, as a calibration sees them; None where there is none."""
        aim = self.aim(query.steps[0], self.stage()[0], [])
        found = self.find(query, 1)
        if not found.moments or aim is None:
            return None
        score = found.moments[0].score
        return score, float(aim.lift(score))

    def moment(self, span: Span, aims: list[Aim]) -> Moment:
        p = None
        if (c := self.calibration) is not None:
            if span.steps:  # lifts, one a step: as sure as its least sure step
                p = min(c(aim.mean + z * aim.spread, z) for aim, z in zip(aims, span.steps, strict=True))
            else:
                p = c(span.score, aims[0].lift(span.score))
        return Moment(span.video, span.start, span.end, span.score, p, span.clips)


def spread_of(scores: Floats) -> float:
    """Their standard deviation; 1 where nothing differs."""
    spread = float(scores.std()) if len(scores) else 0.0
    return spread if spread > 1e-6 else 1.0


def read_picture(part: Part) -> bytes:
    """The bytes of a picture that a query names."""
    if part.data is not None:
        return part.data
    from fabula.library.pictures import LARGEST

    path = Path(part.what).expanduser()
    if not path.is_file():
        raise InputError("no such picture", file=path, hint="check the path")
    if path.stat().st_size > LARGEST:
        raise InputError(f"a picture of {path.stat().st_size:,} bytes", file=path, hint="make it smaller")
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
