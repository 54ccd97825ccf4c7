"""The search itself: a query becomes vectors, vectors find clips, clips become moments, and "nothing" can be said.

    q = Σ w_k e_k / σ_k        e_k: a part's embedding; σ_k: the spread of its scores over the store's clips
    s = q · c, scaled to length 1                   clips by the vector stage (stage.py: exact, or by an index)
    moments from clips by smoothing, or by a trained model (spans.py)
    p = P(the library has an answer | s)            where the store is calibrated (calibrate.py)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fabula.search.query import Query


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
class Found:
    """An answer: moments, best first, or nothing; and how it was come by."""

    query: Query
    moments: tuple[Moment, ...]
    probability: float | None = None  # that the library has an answer at all
    stage: Literal["exact", "index"] = "exact"
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    stage_says: str = ""  # why this stage

    @property
    def nothing(self) -> bool:
        return not self.moments

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "query": str(self.query),
            "nothing": self.nothing,
            "probability": self.probability,
            "stage": self.stage,
            "why": self.stage_says,
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


@dataclass(frozen=True, kw_only=True)
class Where:
    """Where to look, and which moments count."""

    videos: tuple[str, ...] | None = None  # None: everywhere
    people: tuple[str, ...] | None = None  # moments in which all of them are seen; needs a store of people
    length: tuple[float | None, float | None] | None = None  # seconds, least and most
    min_probability: float | None = None


@dataclass
class Searcher:
    """A store that is asked: thread-safe, to be kept."""

    store: Any
    embedder: Any
    cast: Any = None  # people of features/people, where they are to be asked for
    model: Any = None  # a trained moment model (spans.py)
    made: dict[str, Any] = field(default_factory=dict, repr=False)

    def find(
        self,
        query: str | Query,
        limit: int = 20,
        *,
        videos: Sequence[str] | None = None,
        people: Sequence[str] | None = None,
        length: tuple[float | None, float | None] | None = None,
        min_probability: float | None = None,
    ) -> Found:
        """The moments that answer a query best. Text names no file here: parse with pictures first."""
        raise NotImplementedError
