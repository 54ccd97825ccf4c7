"""Our own recipes: they read the film's own times, so that a variable rate, a late start or a long still do no harm.

    rate  the picture on the screen at start + k/fps, k = 0, 1 …, before the end;  over `most`, fps is lowered to fit
    even  the picture on the screen in the middle of each of n equal parts

A frame is sent once, however many of these moments it is on the screen for, and its time is the time when it appears.
`distinct` drops a frame that is like the one before it (media/frame_sets.py).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from fabula.core.errors import SpecError
from fabula.documents.fields import JsonDict
from fabula.media.sampling.base import FrameRecipe, Selection, VideoFacts, drop_repeats, rate_of

MOST = 100_000  # frames of one film


@dataclass(frozen=True, kw_only=True)
class TimedRecipe(FrameRecipe):
    """A recipe of moments; of a stretch where start or end is set."""

    origin: ClassVar[str] = "ours"
    exact: ClassVar[bool] = True

    start: float = 0.0  # seconds
    end: float | None = None  # the film's
    distinct: float = 0.0  # of 255: how much a frame must differ from the last one sent; 0: send all

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.start < (math.inf if self.end is None else self.end):
            raise SpecError(
                f"{self.name}: start={self.start:g} and end={self.end}; start is 0 or more and before the end"
            )
        if not 0 <= self.distinct <= 255:
            raise SpecError(f"{self.name}: distinct={self.distinct:g}; it lies between 0 and 255")

    @abstractmethod
    def moments(self, start: Fraction, end: Fraction) -> list[Fraction]:
        """Seconds at which the screen is looked at."""

    def select_times(self, times: Sequence[Fraction], end: Fraction) -> Selection:
        """Of a film whose i-th picture appears at times[i], and whose last one ends at `end`."""
        stop = end if self.end is None else min(end, exact(self.end))
        start = exact(self.start)
        moments = self.moments(start, stop) if start < stop and times else []
        indices = drop_repeats([max(0, bisect_right(times, t) - 1) for t in moments])
        facts: JsonDict = {"moments": len(moments)}
        return Selection(tuple(indices), facts=facts)

    def select(self, video: VideoFacts) -> Selection:
        """As if the rate were constant."""
        f = exact(rate_of(video))
        return self.select_times([i / f for i in range(video.frames)], video.frames / f) if f else Selection(())


@dataclass(frozen=True, kw_only=True)
class Rate(TimedRecipe):
    """fps, up to `most` frames."""

    name: ClassVar[str] = "fabula/rate"
    about: ClassVar[str] = "the picture on the screen every 1/fps seconds from the first on, each frame once"

    fps: float = 1.0
    most: int = 768

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.fps <= 1000 or not 1 <= self.most <= MOST:
            raise SpecError(f"{self.name}: fps={self.fps:g} and most={self.most}; fps to 1000, most to {MOST}")

    def moments(self, start: Fraction, end: Fraction) -> list[Fraction]:
        rate = exact(self.fps)
        n = math.ceil((end - start) * rate)
        if n > self.most:
            n, rate = self.most, self.most / (end - start)
        return [start + k / rate for k in range(n)]


@dataclass(frozen=True, kw_only=True)
class Even(TimedRecipe):
    """n frames."""

    name: ClassVar[str] = "fabula/even"
    about: ClassVar[str] = "the picture on the screen in the middle of each of n equal parts, each frame once"

    n: int = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.n <= MOST:
            raise SpecError(f"{self.name}: n={self.n}; it lies between 1 and {MOST}")

    def moments(self, start: Fraction, end: Fraction) -> list[Fraction]:
        part = (end - start) / self.n
        return [start + (2 * k + 1) * part / 2 for k in range(self.n)]


def exact(value: float) -> Fraction:
    """As it is written: 0.1 is a tenth."""
    return Fraction(str(value))


RECIPES = (Rate, Even)
