"""The frames and tiles of InternVL (OpenGVLab/InternVL 2410d1db): evaluation, training, pictures.

segment-mid   s = max(0, round(start·f)), e = min(round(end·f), T − 1), g = (e − s)/n;  int(s + g/2 + round(g·i))
train-middle  [0, T] cut at int(linspace) into min(n, T) parts, (a + b − 1)//2 of each;  padded with the last
train-fps     times Δ/2 + kΔ, Δ = 1/fps;  round(t·f);  cut to the first max_num_frames
tiles         the grid of 448-pixel tiles whose aspect is nearest
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from fabula.core.errors import SpecError
from fabula.media.sampling._roundings import spread_floor
from fabula.media.sampling.base import FrameRecipe, Selection, Size, SizeRecipe, VideoFacts, divide, duration_of

ORIGIN, VERSION = "OpenGVLab/InternVL", "2410d1db"
ALWAYS = 100_000.0  # seconds: where nothing is cut


def number(indices: list[int]) -> Selection:
    """`Frame1: ` and so on; the model reads no times."""
    return Selection(tuple(indices), tuple(f"Frame{k + 1}" for k in range(len(indices))))


@dataclass(frozen=True, kw_only=True)
class SegmentMid(FrameRecipe):
    """num_segments, of the stretch `bound` (start/end in seconds)."""

    name: ClassVar[str] = "internvl/segment-mid"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = (
        "the middles of n equal parts (InternVL's evaluation; in lmms-eval InternVL2/3, InternVideo2.5)"
    )
    trap: ClassVar[str] = "a stretch past the end asks for frames that are not there; rate 0: frame 0 n times"

    num_segments: int = 32
    bound: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bound is not None and len(self.bound) != 2:
            raise SpecError(f"{self.name}: bound={self.bound}; it is START/END in seconds, as in bound=2/5.5")

    def select(self, video: VideoFacts) -> Selection:
        f, n = video.rate, self.num_segments
        start, end = self.bound or (-ALWAYS, ALWAYS)
        s, e = max(0, round(start * f)), min(round(end * f), video.frames - 1)
        g = divide(e - s, n, "num_segments")
        return number([int(s + g / 2 + round(g * i)) for i in range(n)])


@dataclass(frozen=True, kw_only=True)
class TrainMiddle(FrameRecipe):
    """num_frames."""

    name: ClassVar[str] = "internvl/train-middle"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "the middle frame of each of n parts (training)"

    num_frames: int = 8

    def select(self, video: VideoFacts) -> Selection:
        T, n = video.frames, self.num_frames
        parts = min(n, T)
        cuts = spread_floor(0, T, parts + 1)
        middles = [(a + b - 1) // 2 for a, b in pairwise(cuts)]
        return number(middles + middles[-1:] * (n - parts))


@dataclass(frozen=True, kw_only=True)
class TrainFps(FrameRecipe):
    """fps, up to max_num_frames."""

    name: ClassVar[str] = "internvl/train-fps"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "the middles of steps of 1/fps (training)"
    trap: ClassVar[str] = "a longer film is cut: only its start is seen; shorter than half a step: no frame"

    fps: float = 1.0
    max_num_frames: int = 0  # none

    def select(self, video: VideoFacts) -> Selection:
        D, step = duration_of(video), divide(1, self.fps, "fps")
        times = np.arange(step / 2, D + step / 2, step)  # as numpy adds them
        indices = [i for i in (round(float(t) * video.rate) for t in times) if i < video.frames]
        return number(indices[: self.max_num_frames] if self.max_num_frames > 0 else indices)


@dataclass(frozen=True, kw_only=True)
class DynamicPreprocess(SizeRecipe):
    """A picture cut into min_num to max_num tiles."""

    name: ClassVar[str] = "internvl/dynamic_preprocess"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "tiles of 448 × 448 in the grid of the nearest aspect, and a thumbnail: 256 tokens each"
    trap: ClassVar[str] = "max_num is 12 for a picture; video frames are sent with 1"

    min_num: int = 1
    max_num: int = 12
    image_size: int = 448
    use_thumbnail: bool = False

    def size(self, height: int, width: int, frames: int = 1) -> Size:
        columns, rows = self.choose_grid(width / height, width * height)
        tiles = columns * rows
        return Size(rows * self.image_size, columns * self.image_size, tiles + (self.use_thumbnail and tiles != 1))

    def choose_grid(self, aspect: float, area: int) -> tuple[int, int]:
        """Of grids that are equally near, a later one wins where the picture has over half of its pixels."""
        best, least = (1, 1), float("inf")
        for columns, rows in self.grids():
            away = abs(aspect - columns / rows)
            if away < least or (away == least and area > 0.5 * self.image_size**2 * columns * rows):
                best, least = (columns, rows), away
        return best

    def grids(self) -> list[tuple[int, int]]:
        """Columns × rows, the fewest tiles first; equal ones in the order of a set, as the original has them."""
        found: set[tuple[int, int]] = set()
        for n in range(self.min_num, self.max_num + 1):
            for columns in range(1, n + 1):
                for rows in range(1, n + 1):
                    if self.min_num <= columns * rows <= self.max_num:
                        found.add((columns, rows))
        return sorted(found, key=lambda grid: grid[0] * grid[1])


RECIPES = (SegmentMid, TrainMiddle, TrainFps, DynamicPreprocess)
