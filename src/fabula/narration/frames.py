"""The frames of a film's windows, in one walk over the film: a window's frames come as soon as its last one is decoded.

Each window is a clip of its own to the frame recipe, so that "32 frames" are 32 of the window. Frames that two windows
share are decoded and written once. What is in memory are the frames of the windows that are not complete yet
(media/frame_sets.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from fabula.documents.fields import JsonDict
from fabula.media.film_times import FilmTimes
from fabula.media.frame_sets import (
    FilmFrames,
    FrameSample,
    PictureFormat,
    describe_decoder,
    select_frames,
    stream_sets,
)
from fabula.media.sampling.base import FrameRecipe, Selection, VideoFacts, refuse
from fabula.media.sampling.fabula import TimedRecipe
from fabula.narration.options import Shots
from fabula.narration.windows import DIGITS, Window


@dataclass(frozen=True, slots=True)
class WindowFrames:
    """The frames of a window, in the order in which they are sent."""

    window: Window
    frames: FilmFrames

    @property
    def samples(self) -> tuple[FrameSample, ...]:
        return self.frames.samples

    def to_dict(self) -> JsonDict:
        sent = [{n: v for n, v in one.items() if n != "harness_label" or v} for one in self.frames.record["sent"]]
        return {"alike": self.frames.record["alike"], "sent": sent}


@dataclass(frozen=True, kw_only=True)
class ClipRecipe(FrameRecipe):
    """Another harness's recipe, for which the pictures from `first` to `stop` are a video of their own."""

    name: ClassVar[str] = "clip"

    inner: FrameRecipe
    first: int
    stop: int

    def select(self, video: VideoFacts) -> Selection:
        count = self.stop - self.first
        selection = self.inner.select(replace(video, frames=count, header_frames=count, duration=None))
        if outside := selection.outside(count):
            refuse("IndexError", f"{self.inner} asks for frame {outside[0]} of {count} of a window")
        return replace(selection, indices=tuple(self.first + i for i in selection.indices))

    def full(self) -> str:
        return self.inner.full()


@dataclass(frozen=True, slots=True)
class FrameSource:
    """How frames are taken: the recipe, and how they are written."""

    recipe: FrameRecipe
    pictures: PictureFormat

    def describe(self) -> JsonDict:
        return {
            "recipe": self.recipe.full(),
            "origin": {"name": self.recipe.origin, "version": self.recipe.version},
            "pictures": self.pictures.to_dict(),
            "decoder": describe_decoder(),
        }

    def recipe_of(self, film: FilmTimes, window: Window) -> FrameRecipe:
        """The recipe of one window."""
        recipe = self.recipe
        if not isinstance(recipe, TimedRecipe):
            first, stop = find_pictures(film, window)
            return ClipRecipe(inner=recipe, first=first, stop=stop)
        start = max(recipe.start, window.start)
        end = window.end if recipe.end is None else min(recipe.end, window.end)
        if start >= end:
            return ClipRecipe(inner=recipe, first=0, stop=0)
        is_last = recipe.end is None and end >= film.duration
        return replace(recipe, start=start, end=None if is_last else end)

    def count(self, film: FilmTimes, window: Window) -> int:
        """How many frames a window has, alike ones included."""
        return len(select_frames(film, self.recipe_of(film, window)).indices)

    def walk(self, film: FilmTimes, windows: Sequence[Window]) -> Iterator[WindowFrames]:
        """The frames of window after window. TimesDifferError: the film must be measured exactly."""
        sets = stream_sets(film, [self.recipe_of(film, window) for window in windows], self.pictures)
        waiting = iter(windows)
        for frames in sets:  # to the end of the film, so that one that breaks off is refused
            yield WindowFrames(next(waiting), frames)


def find_pictures(film: FilmTimes, window: Window) -> tuple[int, int]:
    """The first picture that appears in a window, and the one behind the last; at least one."""
    first = next((i for i, t in enumerate(film.times) if t >= window.start), len(film.times) - 1)
    stop = next((i for i, t in enumerate(film.times) if t >= window.end), len(film.times))
    return first, max(stop, first + 1)


def find_cuts(path: Path, detector: Shots) -> list[float]:
    """Seconds at which the camera cuts."""
    if detector == "none":
        return []
    from fabula.media.shots import find_shots

    return [round(float(start), DIGITS) for start, _ in find_shots(path, detector)[1:]]
