"""The frames of TimeChat (RenShuhuai-Andy/TimeChat c60b332b; Ren et al., CVPR 2024).

n = min(n, T);  int(k·T/n), the steps as numpy.arange adds them: sometimes n + 1
one sentence lists all times to a tenth of a second, and the Q-Former reads one sentence a frame
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fabula.media.sampling._labels import one_digit
from fabula.media.sampling.base import FrameRecipe, Selection, VideoFacts, divide, seconds_of


@dataclass(frozen=True, kw_only=True)
class Uniform(FrameRecipe):
    """n_frms."""

    name: ClassVar[str] = "timechat/uniform"
    origin: ClassVar[str] = "RenShuhuai-Andy/TimeChat"
    version: ClassVar[str] = "c60b332b"
    about: ClassVar[str] = "n frames from the first on in equal steps, never the last; a sentence lists the times"
    trap: ClassVar[str] = "of some lengths n + 1 frames: 1,274 of 19,901 at n = 100, none at 96"

    n_frms: int = 96

    def select(self, video: VideoFacts) -> Selection:
        T = video.frames
        n = min(self.n_frms, T)
        indices = [int(x) for x in np.arange(0, T, divide(T, n, "n_frms"))]
        times = seconds_of(indices, video.rate)
        return Selection(tuple(indices), one_digit(times), times)


RECIPES = (Uniform,)
