"""What Qwen's own library, SGLang, transformers and vLLM share: how many frames, and how large (QwenLM, 2024–2025).

n  =  nframes to the nearest even number, or T/f·fps within [min up to even, max down to even], ≤ T, down to even
(h, w)  to the nearest multiples of a factor; beyond max or below min pixels both sides are scaled by one root
budget of a video: a frame has at most min(768·factor², total/n·2) pixels, at least 1.05 · its minimum
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from fabula.media.sampling.base import Size, VideoFacts, ceil_to, divide, floor_to, rate_of, refuse, round_to

PAIR = 2  # frames that the model merges into one
FPS, LEAST, MOST = 2.0, 4, 768
LONGEST_ASPECT = 200
VIDEO_MIN, VIDEO_MAX = 128, 768  # squares of a factor, of a frame
TOTAL = 128_000 * 0.9  # the same, of a video


@dataclass(frozen=True, slots=True)
class Wanted:
    """How many frames somebody asks for; None: not said."""

    fps: float | None = None
    nframes: int | None = None
    min_frames: int | None = None
    max_frames: int | None = None


def count_frames(wanted: Wanted, video: VideoFacts, total: int) -> int:
    """n of `total` frames."""
    if wanted.fps is not None and wanted.nframes is not None:
        refuse("AssertionError", "fps and nframes are both set; set one of them")
    if wanted.nframes is not None:
        n = round_to(wanted.nframes, PAIR)
    else:
        least = ceil_to(LEAST if wanted.min_frames is None else wanted.min_frames, PAIR)
        most = floor_to(min(MOST, total) if wanted.max_frames is None else wanted.max_frames, PAIR)
        n_raw = divide(total, rate_of(video), "the frame rate") * (FPS if wanted.fps is None else wanted.fps)
        n = floor_to(min(max(n_raw, least), most, total), PAIR)
    if not PAIR <= n <= total:
        refuse("ValueError", f"{n} frames of {total}; it takes {PAIR} to {total}")
    return n


def check_aspect(height: float, width: float) -> None:
    if max(height, width) / min(height, width) > LONGEST_ASPECT:
        refuse("ValueError", f"{width:g} × {height:g} pixels: one side is over {LONGEST_ASPECT} times the other")


def resize_smart(height: int, width: int, factor: int, least: float, most: float) -> Size:
    """qwen-vl-utils and SGLang: a side has one factor at least before it is looked at, and maybe none after."""
    check_aspect(height, width)
    h, w = (max(factor, round_to(side, factor)) for side in (height, width))
    if h * w > most:
        root = math.sqrt(height * width / most)
        h, w = (floor_to(side / root, factor) for side in (height, width))
    elif h * w < least:
        root = math.sqrt(least / (height * width))
        h, w = (ceil_to(side * root, factor) for side in (height, width))
    return Size(h, w)


def resize_guarded(height: int, width: int, factor: int, bounds: tuple[float, float], frames: tuple[int, int]) -> Size:
    """transformers: one factor at least after shrinking. `frames`: counted with the pixels, and as they are merged."""
    check_aspect(height, width)
    n, merged = frames
    least, most = bounds
    h, w = (round_to(side, factor) for side in (height, width))
    if merged * h * w > most:
        root = math.sqrt(n * height * width / most)
        h, w = (max(factor, math.floor(side / root / factor) * factor) for side in (height, width))
    elif merged * h * w < least:
        root = math.sqrt(least / (n * height * width))
        h, w = (math.ceil(side * root / factor) * factor for side in (height, width))
    return Size(h, w)


@dataclass(frozen=True, slots=True)
class Budget:
    """Pixels that a video may have; None: by the rule."""

    min_pixels: float | None = None
    max_pixels: float | None = None
    total_pixels: float | None = None

    def bounds(self, factor: int, n: int) -> tuple[float, float]:
        """Least and most pixels of a frame, of n."""
        square = factor * factor
        least = VIDEO_MIN * square if self.min_pixels is None else self.min_pixels
        total = TOTAL * square if self.total_pixels is None else self.total_pixels
        most = max(min(VIDEO_MAX * square, total / n * PAIR), int(least * 1.05))
        return least, most if self.max_pixels is None else min(self.max_pixels, most)
