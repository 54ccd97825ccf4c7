"""The nouns of moment retrieval: Query, Moment, Ranking; and how clip numbers become seconds.

A Ranking is kept as arrays, because there are many: 100 answers cost 3 kB instead of 20.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fabula.core.errors import SpecError, shown

Id = str | int
Span = tuple[float, float]  # start, end in seconds


@dataclass(frozen=True, slots=True)
class Saliency:
    """How good a highlight each marked clip is: one mark per annotator; clips that are not named have 0."""

    clips: tuple[int, ...]
    marks: tuple[tuple[float, ...], ...]  # [clips, annotators]


class Relevant(NamedTuple):
    """A stretch that answers a query to a degree (TVR-Ranking: 0 to 4)."""

    video: str
    span: Span
    grade: float


class Query(NamedTuple):
    """A sentence, and where in which video it happens. Several windows: one per annotator, or one per occurrence."""

    id: Id
    video: str
    windows: tuple[Span, ...]
    duration: float | None = None
    text: str | None = None
    saliency: Saliency | None = None
    type: str | None = None  # TVR: v, t or vt, what one must attend to to find it; E.T. Bench: the source
    graded: tuple[Relevant, ...] | None = None  # where answers have grades: all of them, in whichever video


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Many queries as columns, as a reader that has them so hands them on. Q queries, W windows."""

    ids: Sequence[Id]
    videos: Sequence[str]
    windows: NDArray[np.float64]  # [W, 2]
    counts: NDArray[np.int64]  # [Q] how many windows each has
    durations: NDArray[np.float64]  # [Q] NaN where there is none
    texts: Sequence[str | None]
    types: Sequence[str | None]
    saliencies: Sequence[Saliency | None] | None = None  # None: no query has one

    def __iter__(self) -> Iterator[Query]:
        """One by one."""
        spans: list[Span] = list(zip(self.windows[:, 0].tolist(), self.windows[:, 1].tolist(), strict=True))
        each: Iterable[tuple[Span, ...]] = zip(spans, strict=True)
        if len(spans) > len(self.ids):
            ends = np.cumsum(self.counts).tolist()
            each = [tuple(spans[end - n : end]) for end, n in zip(ends, self.counts.tolist(), strict=True)]
        durations = [None if d != d else d for d in self.durations.tolist()]
        marks = [None] * len(self.ids) if self.saliencies is None else self.saliencies
        nothing = [None] * len(self.ids)
        columns = (self.ids, self.videos, each, durations, self.texts, marks, self.types, nothing)
        return map(partial(tuple.__new__, Query), zip(*columns, strict=True))  # _make, without a call of Python's


@dataclass(frozen=True, slots=True)
class Moment:
    """One answer: this stretch of this video. Without a video: of the video that the query names."""

    start: float
    end: float
    video: str | None = None
    score: float | None = None


NOBODY = -(2**63)  # a number that no video has


class VideoNumbers(dict[str, int]):
    """Numbers for video names, given out at first sight, so that a million answers hold integers.

    `strangers`: a file may hold numbers that it gives to no video; they become NOBODY instead of being refused.
    """

    def __init__(self, known: Mapping[str, int] | None = None, strangers: bool = False) -> None:
        super().__init__()
        self.strangers = strangers
        self.adopt(known or {})

    def adopt(self, known: Mapping[str, int]) -> None:
        """Take over a file's own numbers, before any other is given out: ReLoCLNet's suppression computes with them."""
        self.update(known)
        self.next = max(self.values(), default=-1) + 1

    def __missing__(self, name: str) -> int:
        self[name] = number = self.next
        self.next += 1
        return number


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The answers to one query, best first as the system lists them."""

    id: Id
    spans: NDArray[np.float64]  # [N, 2]
    scores: NDArray[np.float64] | None = None  # [N]
    videos: NDArray[np.int64] | None = None  # [N] numbers of VideoNumbers; None: all in the query's own video
    saliency: NDArray[np.float64] | None = None  # [C] one number per clip of the query's video
    answer: str | None = None  # the words of a language model, where windows are still to be read from them
    pace: float | None = None  # of such words that count frames: the seconds from one to the next

    @classmethod
    def of(
        cls,
        id: Id,
        moments: Iterable[Moment],
        numbers: VideoNumbers | None = None,
        saliency: ArrayLike | None = None,
    ) -> Ranking:
        """From single answers; either all of them name a video, or none does."""
        listed = list(moments)
        named = [numbers[m.video] for m in listed if m.video is not None and numbers is not None]
        if named and len(named) < len(listed):
            raise SpecError(f"query {shown(id)}: {len(named)} of {len(listed)} moments name a video; all or none must")
        scores = [m.score for m in listed if m.score is not None]
        return cls(
            id,
            np.array([(m.start, m.end) for m in listed], dtype=np.float64).reshape(-1, 2),
            np.array(scores, dtype=np.float64) if listed and len(scores) == len(listed) else None,
            np.array(named, dtype=np.int64) if named else None,
            None if saliency is None else np.asarray(saliency, dtype=np.float64),
        )

    def __len__(self) -> int:
        return len(self.spans)


@dataclass(frozen=True, slots=True, eq=False)
class Rankings:
    """Rankings of many queries end to end, as a reader that has them so hands them on. Q queries, M answers."""

    ids: Sequence[Id]
    counts: NDArray[np.int64]  # [Q] how many answers each has
    spans: NDArray[np.float64]  # [M, 2]
    scores: NDArray[np.float64] | None  # [M]
    videos: NDArray[np.int64]  # [M]

    def __iter__(self) -> Iterator[Ranking]:
        """One by one."""
        start = 0
        for id, n in zip(self.ids, self.counts.tolist(), strict=True):
            part = slice(start, start + n)
            yield Ranking(id, self.spans[part], None if self.scores is None else self.scores[part], self.videos[part])
            start += n


EndRule = Literal["inside", "past"]


def clip_seconds(first: ArrayLike, last: ArrayLike, clip: float, end: EndRule = "inside") -> NDArray[np.float64]:
    """Clip numbers as seconds. [N, 2]

    inside  the last clip belongs to the moment: end = (last + 1)·clip (XML, HERO: Lei et al., ECCV 2020)
    past    `last` is the first clip after it: end = last·clip (ReLoCLNet: Zhang et al., SIGIR 2021)

    A head trained for one rule and decoded by the other is off by one clip: 1.5 s on TVR.
    """
    if end not in ("inside", "past"):
        raise SpecError(f"end is {end!r}; it may be inside or past")
    if not clip > 0:
        raise SpecError(f"clip is {clip}; a clip is longer than nothing")
    starts, ends = np.asarray(first, dtype=np.float64), np.asarray(last, dtype=np.float64)
    return np.stack([starts * clip, (ends + 1 if end == "inside" else ends) * clip], axis=-1)
