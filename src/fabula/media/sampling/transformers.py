"""The frames of transformers 5.23.0 (Hugging Face): the processors' own sampling, without a harness around it.

qwen2_vl   n as _qwen.py says (num_frames or fps, no default);  R4 from 0 with step T/n: never the last frame
qwen3_vl   n = num_frames, or int(T/f·fps) within [4, 768], ≤ T;  R2;  one time for every two frames
default    i·T // n in whole numbers (LLaVA-OneVision, LLaVA-NeXT-Video)
internvl   R4 from T/n/2, or from initial_shift
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.media.sampling._labels import label_pairs, one_digit
from fabula.media.sampling._qwen import LEAST, MOST, PAIR, resize_guarded
from fabula.media.sampling._roundings import spread_even, step_float32
from fabula.media.sampling.base import (
    FrameRecipe,
    Selection,
    Size,
    SizeRecipe,
    VideoFacts,
    divide,
    floor_to,
    refuse,
    round_to,
)

ORIGIN, VERSION = "transformers", "5.23.0"
GUESS = 24.0  # frames a second of a video that does not say


def check_one(fps: float | None, num_frames: int | None) -> None:
    if fps is not None and num_frames is not None:
        refuse("ValueError", "fps and num_frames are both set; set one of them")


@dataclass(frozen=True, kw_only=True)
class Qwen2VL(FrameRecipe):
    """num_frames or fps; without either it fails."""

    name: ClassVar[str] = "transformers/qwen2_vl"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "an even number from the first frame on in equal steps, never the last"
    trap: ClassVar[str] = "may ask for frame T, one behind the last; one frame divides by zero"

    num_frames: int | None = None
    fps: float | None = None
    min_frames: int = LEAST
    max_frames: int = MOST

    def select(self, video: VideoFacts) -> Selection:
        check_one(self.fps, self.num_frames)
        T, n = video.frames, self.count(video)
        if n > T:
            refuse("ValueError", f"{n} frames of {T}")
        if n < 0:
            refuse("RuntimeError", f"{n} frames")
        return Selection(tuple(step_float32(0, T, divide(T, n, "the number of frames"))))

    def count(self, video: VideoFacts) -> int:
        if self.num_frames is not None:
            return round_to(self.num_frames, PAIR)
        if self.fps is None:
            refuse("TypeError", "neither num_frames nor fps is set")
        if video.fps is None:
            refuse("ValueError", "the frame rate is not known")
        most = floor_to(min(self.max_frames, video.frames), PAIR)
        n = divide(video.frames, video.fps, "the frame rate") * self.fps
        return floor_to(min(max(n, self.min_frames), most, video.frames), PAIR)


@dataclass(frozen=True, kw_only=True)
class Qwen3VL(FrameRecipe):
    """num_frames, or fps (2)."""

    name: ClassVar[str] = "transformers/qwen3_vl"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "2 a second, 4 to 768, first and last frame among them; `<12.3 seconds>` before every two"
    trap: ClassVar[str] = (
        "a label is the mean of two frames; an unknown rate counts as 24; num_frames > T repeats frames"
    )

    num_frames: int | None = None
    fps: float | None = None

    def select(self, video: VideoFacts) -> Selection:
        check_one(self.fps, self.num_frames)
        T, f = video.frames, GUESS if video.fps is None else video.fps
        n = self.num_frames
        if n is None:
            n = min(max(int(divide(T, f, "the frame rate") * (2 if self.fps is None else self.fps)), LEAST), MOST, T)
        indices = spread_even(0, T - 1, n)
        times = label_pairs(indices, f) if f else ()
        return Selection(tuple(indices), one_digit(times), times, PAIR)


@dataclass(frozen=True, kw_only=True)
class Default(FrameRecipe):
    """num_frames, or fps; all frames without either."""

    name: ClassVar[str] = "transformers/default"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "equal steps from the first frame on, never the last (LLaVA-OneVision, LLaVA-NeXT-Video)"
    trap: ClassVar[str] = "without a setting it takes every frame; more than there are raises"

    num_frames: int | None = None
    fps: float | None = None

    def select(self, video: VideoFacts) -> Selection:
        check_one(self.fps, self.num_frames)
        T, n = video.frames, self.num_frames
        if n is None and self.fps is not None:
            if video.fps is None:
                refuse("ValueError", "the frame rate is not known")
            n = max(1, int(divide(T, video.fps, "the frame rate") * self.fps))
        if n is None:
            return Selection(tuple(range(T)))
        if n > T:
            refuse("ValueError", f"{n} frames of {T}")
        return Selection(tuple(i * T // n for i in range(n)))


@dataclass(frozen=True, kw_only=True)
class InternVL(FrameRecipe):
    """num_frames, or fps."""

    name: ClassVar[str] = "transformers/internvl"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "the middles of n equal parts; `Frame1: ` before each, no times"
    trap: ClassVar[str] = "rounds otherwise than InternVL's own evaluation: 18 56 … 281 there 18 55 … 280"

    num_frames: int | None = None
    fps: float | None = None
    initial_shift: float | None = None  # frames; none: half a step

    def select(self, video: VideoFacts) -> Selection:
        T, n = video.frames, self.num_frames
        if n is None and self.fps is not None:
            if video.fps is None:
                refuse("ValueError", "the frame rate is not known")
            n = int(divide(T, video.fps, "the frame rate") * self.fps)
        if n is None:
            refuse("TypeError", "neither num_frames nor fps is set")
        if n > T:
            refuse("ValueError", f"{n} frames of {T}")
        step = divide(T, n, "the number of frames")
        start = step / 2 if self.initial_shift is None else self.initial_shift
        if start > T:
            refuse("RuntimeError", f"initial_shift={start:g} is behind the last of {T} frames")
        indices = step_float32(start, T, step)
        return Selection(tuple(indices), tuple(f"Frame{k + 1}" for k in range(len(indices))))


@dataclass(frozen=True, kw_only=True)
class Qwen2Size(SizeRecipe):
    """A picture or frame."""

    name: ClassVar[str] = "transformers/qwen2_vl-smart_resize"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "sides to multiples of 28, 3,136 to 1,003,520 pixels"

    factor: int = 28
    min_pixels: float = 56 * 56
    max_pixels: float = 14 * 14 * 4 * 1280

    def size(self, height: int, width: int, frames: int = 1) -> Size:
        return resize_guarded(height, width, self.factor, (self.min_pixels, self.max_pixels), (1, 1))


@dataclass(frozen=True, kw_only=True)
class Qwen3Size(SizeRecipe):
    """A frame: the budget is the whole clip's."""

    name: ClassVar[str] = "transformers/qwen3_vl-smart_resize"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "sides to multiples of 32; the pixels of all frames together are bounded"
    trap: ClassVar[str] = "a clip of one frame raises"

    temporal_factor: int = PAIR
    factor: int = 32
    min_pixels: float = 112 * 112
    max_pixels: float = 14 * 14 * 2 * 2 * 2 * 6144

    def size(self, height: int, width: int, frames: int = 1) -> Size:
        if frames < self.temporal_factor:
            refuse("ValueError", f"{frames} frames; it takes {self.temporal_factor} at least")
        if min(height, width) < self.factor:  # the shorter side to one factor
            scale = max(self.factor / height, self.factor / width)
            height, width = int(height * scale), int(width * scale)
        merged = round_to(frames, self.temporal_factor)
        return resize_guarded(height, width, self.factor, (self.min_pixels, self.max_pixels), (frames, merged))


RECIPES = (Qwen2VL, Qwen3VL, Default, InternVL, Qwen2Size, Qwen3Size)
