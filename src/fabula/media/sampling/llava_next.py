"""The frames of LLaVA-NeXT (LLaVA-VL/LLaVA-NeXT df179663): LLaVA-Video's training loader and its demo.

stride round(f/video_fps), in the demo round(f);  above the cap, or forced, R1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.media.sampling.base import FrameRecipe, Selection, VideoFacts
from fabula.media.sampling.lmms_eval import select_strided

ORIGIN, VERSION = "LLaVA-VL/LLaVA-NeXT", "df179663"


@dataclass(frozen=True, kw_only=True)
class ProcessVideo(FrameRecipe):
    """video_fps, up to frames_upbound."""

    name: ClassVar[str] = "llava-next/process_video_with_decord"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "as lmms-eval/llava_vid; a cap of 0 is none, forced or not"
    trap: ClassVar[str] = "below the cap the k-th frame is called k seconds, whatever video_fps"

    video_fps: float = 1.0
    frames_upbound: int = 0
    force_sample: bool = False

    def select(self, video: VideoFacts) -> Selection:
        return select_strided(video, self.video_fps, self.frames_upbound, self.force_sample)


@dataclass(frozen=True, kw_only=True)
class DemoLoadVideo(FrameRecipe):
    """One a second, up to for_get_frames_num."""

    name: ClassVar[str] = "llava-next/demo-load_video"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "every round(f)-th frame, up to a cap"
    trap: ClassVar[str] = "a film of half a frame a second and less raises"

    for_get_frames_num: int = 32
    force_sample: bool = False

    def select(self, video: VideoFacts) -> Selection:
        return select_strided(video, 1.0, self.for_get_frames_num, self.force_sample)


RECIPES = (ProcessVideo, DemoLoadVideo)
