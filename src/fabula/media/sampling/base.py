"""A frame recipe: facts of a video in; out come indices of frames, and the times that the model reads beside them.

    T  frames     f  frames per second     D  seconds, T/f     n  frames wanted

All rules of others assume a constant rate: frame i is at i/f seconds. What a film really shows at which time is in
media/frame_sets.py. Where an original stops with an exception, its recipe raises a RecipeError that names it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NoReturn

from fabula.core.errors import FabulaError
from fabula.core.spec import Spec
from fabula.documents.fields import JsonDict

EVERYTHING = 10_000_000  # frames; a video of more is a slip


class RecipeError(FabulaError):
    """The original stops here, with an exception of the class `original`."""

    def __init__(self, original: str, problem: str) -> None:
        self.original, self.problem = original, problem
        super().__init__(f"{problem} (the original stops with {original})")

    def __reduce__(self) -> tuple[type[RecipeError], tuple[str, str]]:
        return type(self), (self.original, self.problem)


@dataclass(frozen=True, slots=True)
class VideoFacts:
    """What a recipe is told of a video by the program that opens it."""

    frames: int  # T, as the decoder counts
    fps: float | None = None  # f, the average; None or 0: not known
    duration: float | None = None  # of the container, for the few recipes that read it
    header_frames: int | None = None  # as the container counts; 0: it does not; None: as the decoder
    container: str = "mp4"  # ending of the file's name
    height: int | None = None
    width: int | None = None

    @property
    def rate(self) -> float:
        """f, 0 where it is not known."""
        return self.fps or 0.0


@dataclass(frozen=True, slots=True)
class Selection:
    """What a recipe selects: frames in the order in which they are sent, repeated ones repeated."""

    indices: tuple[int, ...]
    labels: tuple[str, ...] = ()  # the times as the model reads them; none where it reads none
    label_times: tuple[float, ...] = ()  # the same as numbers, before they are rounded
    per_label: int = 1  # frames that share a label
    facts: JsonDict = field(default_factory=dict)  # what else the original passes on, by its own names

    def outside(self, frames: int) -> list[int]:
        """Indices that no frame has: a decoder raises, or counts them from the end."""
        return [i for i in self.indices if not 0 <= i < frames]

    def label_of(self, k: int) -> str:
        """What the model reads of the k-th frame's time; nothing where it reads none."""
        return self.labels[k // self.per_label] if self.labels else ""

    def label_time(self, k: int) -> float | None:
        return self.label_times[k // self.per_label] if self.label_times else None


@dataclass(frozen=True, slots=True)
class Size:
    """Of a picture as the model gets it; tiles where it is cut into some."""

    height: int
    width: int
    tiles: int = 1  # with the thumbnail


class Named:
    """What recipes of both kinds say of themselves."""

    origin: ClassVar[str] = ""  # package or repository …
    version: ClassVar[str] = ""  # … and its release or commit
    about: ClassVar[str] = ""  # one line: what it takes
    trap: ClassVar[str] = ""  # one line: what surprises people; nothing where nothing does


@dataclass(frozen=True, kw_only=True)
class FrameRecipe(Spec, Named, ABC):
    """Base of recipes that choose frames."""

    exact: ClassVar[bool] = False  # it reads the film's own times, and T and f are not asked for

    @abstractmethod
    def select(self, video: VideoFacts) -> Selection:
        """RecipeError: the original stops."""


@dataclass(frozen=True, kw_only=True)
class SizeRecipe(Spec, Named, ABC):
    """Base of recipes that give the size of pictures."""

    @abstractmethod
    def size(self, height: int, width: int, frames: int = 1) -> Size:
        """RecipeError: the original stops."""


def refuse(original: str, problem: str) -> NoReturn:
    raise RecipeError(original, problem)


def divide(a: float, b: float, what: str) -> float:
    """a/b, where the original divides by 0 too."""
    if b == 0:
        refuse("ZeroDivisionError", f"{what} is 0")
    return a / b


def rate_of(video: VideoFacts) -> float:
    """f, of programs that reckon with it without asking whether it is there."""
    if video.fps is None:
        refuse("TypeError", "the frame rate is not known")
    return video.fps


def duration_of(video: VideoFacts) -> float:
    """D = T/f."""
    return divide(video.frames, rate_of(video), "the frame rate")


def seconds_of(indices: Sequence[int], fps: float) -> tuple[float, ...]:
    """i/f of every frame; nothing where f is not known."""
    return tuple(i / fps for i in indices) if fps else ()


def drop_repeats(indices: Sequence[int]) -> list[int]:
    return list(dict.fromkeys(indices))


def round_to(value: float, factor: int) -> int:
    """The nearest multiple; halves go to the even one."""
    return round(value / factor) * factor


def ceil_to(value: float, factor: int) -> int:
    return math.ceil(value / factor) * factor


def floor_to(value: float, factor: int) -> int:
    return math.floor(value / factor) * factor
