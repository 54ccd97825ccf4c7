"""The frames of qwen-vl-utils 0.0.14, Qwen's own library (QwenLM/Qwen3-VL 96588727 differs in the frame-list resize).

range   ⌈start·f⌉ … min(⌊end·f⌋, T − 1), start and end held within 0 … D
n       of the range, as _qwen.py says; fps 2 where nothing is said
frames  R3 over the range;  sample_fps = n/T·f of the range, though the frames span T − 1 steps
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from fabula.media.sampling._qwen import PAIR, Budget, Wanted, count_frames, resize_smart
from fabula.media.sampling._roundings import spread_float32
from fabula.media.sampling.base import FrameRecipe, Selection, Size, SizeRecipe, VideoFacts, ceil_to, rate_of, refuse

ORIGIN, VERSION = "qwen-vl-utils", "0.0.14"
IMAGE_MIN, IMAGE_MAX = 4, 16_384  # squares of a factor


@dataclass(frozen=True, kw_only=True)
class Decord(FrameRecipe):
    """fps, or nframes; of a stretch where start or end is set."""

    name: ClassVar[str] = "qwen-vl-utils/decord"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "2 a second, 4 to 768, an even number, first and last frame among them"
    trap: ClassVar[str] = "nframes above the video's raises; max_frames wins over min_frames and over fps in silence"

    fps: float | None = None  # 2
    nframes: int | None = None
    min_frames: int | None = None  # 4
    max_frames: int | None = None  # 768, or T
    video_start: float | None = None  # seconds
    video_end: float | None = None

    def select(self, video: VideoFacts) -> Selection:
        start, end = self.cut(video)
        total = end - start + 1
        n = count_frames(Wanted(self.fps, self.nframes, self.min_frames, self.max_frames), video, total)
        facts = {"sample_fps": n / max(total, 1e-6) * video.rate, "range_total": total}
        return Selection(tuple(spread_float32(start, end, n)), facts=facts)

    def cut(self, video: VideoFacts) -> tuple[int, int]:
        """First and last frame of the stretch."""
        f, last = rate_of(video), video.frames - 1
        if f <= 0 or video.frames <= 0:
            refuse("ValueError", f"{video.frames} frames at {f:g} a second")
        if self.video_start is None and self.video_end is None:
            return 0, last
        start, end = (
            None if t is None else max(0.0, min(t, video.frames / f)) for t in (self.video_start, self.video_end)
        )
        first = 0 if start is None else math.ceil(start * f)
        last = last if end is None else min(math.floor(end * f), last)
        if first >= last:
            refuse("ValueError", f"the stretch begins with frame {first} and ends with frame {last}")
        return first, last


@dataclass(frozen=True, kw_only=True)
class Torchcodec(Decord):
    """The same rules with another decoder."""

    name: ClassVar[str] = "qwen-vl-utils/torchcodec"


@dataclass(frozen=True, kw_only=True)
class SmartResize(SizeRecipe):
    """A picture: multiples of the factor within [min, max] pixels."""

    name: ClassVar[str] = "qwen-vl-utils/smart_resize"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "sides to multiples of 28 (Qwen2, Qwen2.5) or 32 (Qwen3), 4 to 16,384 squares of it"

    factor: int = 28
    min_pixels: float | None = None
    max_pixels: float | None = None

    def size(self, height: int, width: int, frames: int = 1) -> Size:
        square = self.factor**2
        least = IMAGE_MIN * square if self.min_pixels is None else self.min_pixels
        most = IMAGE_MAX * square if self.max_pixels is None else self.max_pixels
        return resize_strict(height, width, self.factor, least, most)


def resize_strict(height: int, width: int, factor: int, least: float, most: float) -> Size:
    if most < least:
        refuse("AssertionError", f"max_pixels {most:g} is below min_pixels {least:g}")
    return resize_smart(height, width, factor, least, most)


@dataclass(frozen=True, kw_only=True)
class VideoSize(SizeRecipe):
    """A frame of a video of `frames` frames."""

    name: ClassVar[str] = "qwen-vl-utils/fetch_video-size"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "the more frames the smaller each: 128 to 768 squares of 28 or 32, 115,200 of a video"
    trap: ClassVar[str] = "max_pixels can only lower the budget"

    image_patch_size: int = 14  # 16 for Qwen3
    min_pixels: float | None = None
    max_pixels: float | None = None
    total_pixels: float | None = None
    resized_height: int | None = None
    resized_width: int | None = None

    @property
    def factor(self) -> int:
        return self.image_patch_size * 2

    def size(self, height: int, width: int, frames: int = 1) -> Size:
        if self.resized_height is not None and self.resized_width is not None:
            return SmartResize(factor=self.factor).size(self.resized_height, self.resized_width)
        budget = Budget(self.min_pixels, self.max_pixels, self.total_pixels)
        return resize_strict(height, width, self.factor, *budget.bounds(self.factor, frames))


@dataclass(frozen=True, kw_only=True)
class FrameList(VideoSize):
    """A list of pictures handed over as a video: each is sized as a picture first, then as a frame."""

    name: ClassVar[str] = "qwen-vl-utils/frame-list"
    about: ClassVar[str] = "pictures handed over as a video: sized twice, the times replaced by 0, 1, 2 …"
    trap: ClassVar[str] = "the first resize doubles the factor (56, 64): 640 × 360 becomes 616 × 336, not 644 × 364"

    sample_fps: float = 2.0
    raw_fps: float | None = None  # as sample_fps

    def first_size(self, height: int, width: int) -> Size:
        """As each picture is sized before it is a frame."""
        first = SmartResize(factor=self.factor * 2, min_pixels=self.min_pixels, max_pixels=self.max_pixels)
        if self.resized_height is not None and self.resized_width is not None:
            return SmartResize(factor=self.factor * 2).size(self.resized_height, self.resized_width)
        return first.size(height, width)

    def size(self, height: int, width: int, frames: int = 1) -> Size:
        first = self.first_size(height, width)
        return super().size(first.height, first.width, self.count(frames))

    def count(self, frames: int) -> int:
        """Of an odd count the last picture is repeated."""
        return ceil_to(frames, PAIR)

    def metadata(self, frames: int) -> tuple[float, list[int], float]:
        """What the model is told of times: frames a second, indices, frames of the video."""
        n, raw = self.count(frames), self.sample_fps if self.raw_fps is None else self.raw_fps
        return raw, list(range(n)), n / self.sample_fps * raw


RECIPES = (Decord, Torchcodec, SmartResize, VideoSize, FrameList)
