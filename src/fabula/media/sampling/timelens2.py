"""The frames of TimeLens2 (MCG-NJU/TimeLens2 a5ce4501): VLMEvalKit's rules, one frame at least, up to a limit.

nframe  int(i·T/(n + 1));  fps  int(i·f/fps), above frames_limit the rule of nframe with the limit
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabula.media.sampling._labels import two_digits
from fabula.media.sampling.base import FrameRecipe, Selection, VideoFacts, divide, duration_of, seconds_of
from fabula.media.sampling.vlmevalkit import take_inner, take_rate


@dataclass(frozen=True, kw_only=True)
class SaveVideoFrames(FrameRecipe):
    """nframe, or fps up to frames_limit."""

    name: ClassVar[str] = "timelens2/save_video_frames"
    origin: ClassVar[str] = "MCG-NJU/TimeLens2"
    version: ClassVar[str] = "a5ce4501"
    about: ClassVar[str] = "fps a second from the first frame on, or n without the ends; `12.34s` before each"
    trap: ClassVar[str] = (
        "above the limit frames begin one step in, while the video path says a rate alone: times begin at 0"
    )

    nframe: int = 0
    fps: float = -1.0
    frames_limit: int = 2048

    def select(self, video: VideoFacts) -> Selection:
        T = video.frames
        if self.fps > 0:
            D = duration_of(video)
            indices, rate = take_rate(video, self.fps, least=1), self.fps
            if len(indices) > self.frames_limit:
                indices = take_inner(T, self.frames_limit)
                rate = self.frames_limit / D
        else:
            indices = take_inner(T, self.nframe)
            rate = divide(video.rate, T / (self.nframe + 1), "the number of frames")
        times = seconds_of(indices, video.rate)
        facts = {"sample_fps": rate, "sample_n_frame": len(indices)}
        return Selection(tuple(indices), two_digits(times), times, facts=facts)


RECIPES = (SaveVideoFrames,)
