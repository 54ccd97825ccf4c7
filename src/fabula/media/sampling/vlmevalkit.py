"""The frames of VLMEvalKit (open-compass/VLMEvalKit e8e78f05).

nframe  int(i·T/(n + 1)), i = 1 … n: neither the first nor the last frame
fps     int(i·f/fps), i < int(D·fps)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.media.sampling.base import FrameRecipe, Selection, VideoFacts, divide, duration_of

ORIGIN, VERSION = "open-compass/VLMEvalKit", "e8e78f05"


def take_inner(T: int, n: int) -> list[int]:
    """n frames between the ends."""
    step = T / (n + 1)
    return [int(i * step) for i in range(1, n + 1)]


def take_rate(video: VideoFacts, fps: float, least: int = 0) -> list[int]:
    """A frame every 1/fps seconds from the first on."""
    n = max(int(duration_of(video) * fps), least)
    step = divide(video.rate, fps, "fps")
    return [int(i * step) for i in range(n)]


@dataclass(frozen=True, kw_only=True)
class Base(FrameRecipe):
    """nframe, or fps."""

    name: ClassVar[str] = "vlmevalkit/base"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = (
        "n frames without the ends, or fps a second from the first on; JPEG files, then again for APIs"
    )
    trap: ClassVar[str] = "files are found by video name, n and fps: a replaced video is not noticed; D·fps < 1: none"

    nframe: int = 0
    fps: float = -1.0

    def select(self, video: VideoFacts) -> Selection:
        if self.nframe > 0 and self.fps < 0:
            indices, suffix = take_inner(video.frames, self.nframe), ""
        elif self.fps > 0:
            indices, suffix = take_rate(video, self.fps), f"-{self.fps:g}fps"
        else:
            indices, suffix = [], ""
        n = len(indices)
        ends = [f"frame-{k}-of-{n}{suffix}.jpg" for k in (1, n)] if n else []
        return Selection(tuple(indices), facts={"file_names": ends})


RECIPES = (Base,)
