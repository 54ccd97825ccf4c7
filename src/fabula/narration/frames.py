"""The frames of a film's windows, in one walk over the film: a window's frames come as soon as its last one is decoded.

Each window is a clip of its own to the frame recipe, so that "32 frames" are 32 of the window. Frames that two windows
share are decoded and written once. What is in memory are the frames of the windows that are not complete yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fabula.core.errors import InputError
from fabula.documents.fields import JsonDict
from fabula.media.film_times import FilmTimes
from fabula.media.frame_sets import (
    FrameSample,
    PictureFormat,
    describe_decoder,
    select_frames,
    stream_frames,
)
from fabula.media.sampling.base import FrameRecipe, Selection
from fabula.media.sampling.fabula import TimedRecipe
from fabula.narration.options import Shots
from fabula.narration.windows import Window


@dataclass(frozen=True, slots=True)
class WindowFrames:
    """The frames of a window, in the order in which they are sent."""

    window: Window
    samples: tuple[FrameSample, ...]
    wanted: int  # frames that the recipe asked for, with those that were dropped for their likeness

    def to_dict(self) -> JsonDict:
        return {
            "alike": self.wanted - len(self.samples),
            "sent": [{n: v for n, v in sample.to_dict().items() if n != "said" or v} for sample in self.samples],
        }


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

    def select(self, film: FilmTimes, window: Window) -> Selection:
        """Indices of the film's pictures for one window."""
        recipe = self.recipe
        if isinstance(recipe, TimedRecipe):
            start = max(recipe.start, window.start)
            end = window.end if recipe.end is None else min(recipe.end, window.end)
            if start >= end:
                return Selection(())
            last = end >= film.duration
            return select_frames(film, replace(recipe, start=start, end=None if last else end))
        first, stop = find_pictures(film, window)
        facts = replace(film.facts(), frames=stop - first, header_frames=stop - first, duration=None)
        selection = recipe.select(facts)
        if outside := selection.outside(stop - first):
            raise InputError(
                f"the recipe {recipe} asks for picture {outside[0]} of {stop - first} in a window",
                file=film.path,
                hint="choose another --frames",
            )
        return replace(selection, indices=tuple(first + i for i in selection.indices))

    def walk(self, film: FilmTimes, windows: Sequence[Window]) -> Iterator[WindowFrames]:
        """The frames of window after window. TimesDifferError: the film must be measured exactly."""
        chosen = [self.select(film, window).indices for window in windows]
        union = sorted({i for indices in chosen for i in indices})
        threshold = self.recipe.distinct if isinstance(self.recipe, TimedRecipe) else 0.0
        samples: dict[int, FrameSample] = {}
        last: FrameSample | None = None
        stream = stream_frames(film, union, self.pictures, threshold)
        current = next(stream, None)
        lowest = find_lowest(chosen, len(film.times))
        for k, (window, indices) in enumerate(zip(windows, chosen, strict=True)):
            final = max(indices, default=-1)
            while current is not None and current.index <= final:
                samples[current.index] = last = current
                current = next(stream, None)
            sent = [samples[i] for i in indices if i in samples]
            if not sent and indices:  # a still that began before the window
                before = [s for s in samples.values() if s.index <= final]
                sent = before[-1:] or ([last] if last is not None else [])
            yield WindowFrames(window, tuple(sent), len(indices))
            samples = {i: s for i, s in samples.items() if i >= lowest[k + 1] or s is last}
        while current is not None:  # to the end, so that a film that breaks off is refused
            current = next(stream, None)


def find_lowest(chosen: Sequence[Sequence[int]], count: int) -> list[int]:
    """The first picture that any window from the k-th on needs; `count` behind the last window."""
    lowest = [count]
    for indices in reversed(chosen):
        lowest.append(min(lowest[-1], min(indices, default=count)))
    return lowest[::-1]


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

    return [round(float(start), 3) for start, _ in find_shots(path, detector)[1:]]
