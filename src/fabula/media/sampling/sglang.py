"""The frames of SGLang (sgl-project/sglang cce0a124).

qwen_vl              n as _qwen.py says;  R1, repeats dropped: 0 19 39 59 where Qwen's own gives 0 20 39 59
sample_video_frames  n = ⌊D·min(fps, f)⌋ within [1, max];  R1
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from fabula.documents.fields import JsonDict
from fabula.media.sampling._qwen import Budget, Wanted, count_frames, resize_smart
from fabula.media.sampling._roundings import spread_floor
from fabula.media.sampling.base import FrameRecipe, Selection, VideoFacts, drop_repeats, duration_of, refuse

ORIGIN, VERSION = "sgl-project/sglang", "cce0a124"
FACTOR = 28


@dataclass(frozen=True, kw_only=True)
class QwenVL(FrameRecipe):
    """fps, or nframes; set when the server is started (--mm-process-config), not by a request."""

    name: ClassVar[str] = "sglang/qwen_vl"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "the count of qwen-vl-utils, rounded down instead of to the nearest"
    trap: ClassVar[str] = "no request can set it; pictures are resized bilinearly, Qwen's own bicubically"

    fps: float | None = None  # 2
    nframes: int | None = None
    min_frames: int | None = None
    max_frames: int | None = None
    min_pixels: float | None = None
    max_pixels: float | None = None
    total_pixels: float | None = None

    def select(self, video: VideoFacts) -> Selection:
        T = video.frames
        n = count_frames(Wanted(self.fps, self.nframes, self.min_frames, self.max_frames), video, T)
        indices = drop_repeats(spread_floor(0, T - 1, n))
        facts: JsonDict = {"duration": duration_of(video)}
        if video.height and video.width:
            budget = Budget(self.min_pixels, self.max_pixels, self.total_pixels)
            size = resize_smart(video.height, video.width, FACTOR, *budget.bounds(FACTOR, len(indices)))
            facts |= {"resized": [size.height, size.width]}
        return Selection(tuple(indices), facts=facts)


@dataclass(frozen=True, kw_only=True)
class SampleVideoFrames(FrameRecipe):
    """desired_fps, up to max_frames."""

    name: ClassVar[str] = "sglang/sample_video_frames"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "so many a second up to a cap, first and last frame among them"

    desired_fps: float = 2.0
    max_frames: int = 64

    def select(self, video: VideoFacts) -> Selection:
        if video.frames <= 0:
            refuse("AssertionError", "a video without a frame")
        D = duration_of(video)
        n = max(1, min(math.floor(D * min(self.desired_fps, video.rate)), self.max_frames))
        return Selection(tuple(spread_floor(0, video.frames - 1, n)))


RECIPES = (QwenVL, SampleVideoFrames)
