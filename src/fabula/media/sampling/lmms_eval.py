"""The frames of lmms-eval (EvolvingLMMs-Lab/lmms-eval 75571cfe): a loader for every kind of model.

decord-uniform         R1 of n frames (LLaVA-OneVision and most); VILA's ends with frame T − 2
read_video-pyav        n = min(n, int(T/f·fps), T);  R1;  whatever goes wrong, every frame
read_video-torchcodec  the same, at least one, repeats dropped
load_video_packet      R1, and the last frame where it is not there
openai                 stride max(1, round(f/fps)) and the last;  above the cap R1 over that list and the last
llava_vid              stride round(f/fps);  above the cap, or forced, R1
videollama3            shorter than n seconds: stride f // fps from half a stride on, and the last;  else R1
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from fabula.media.sampling._labels import two_digits
from fabula.media.sampling._roundings import spread_floor
from fabula.media.sampling.base import (
    FrameRecipe,
    RecipeError,
    Selection,
    VideoFacts,
    divide,
    drop_repeats,
    duration_of,
    rate_of,
    refuse,
    seconds_of,
)

ORIGIN, VERSION = "EvolvingLMMs-Lab/lmms-eval", "75571cfe"


def with_last(indices: Sequence[int], last: int) -> list[int]:
    return [*indices] if last in indices else [*indices, last]


def spread_forced(T: int, n: int) -> list[int]:
    """R1 of n frames with the last among them, also where n is 1."""
    return [T - 1] if n == 1 else spread_floor(0, T - 1, n)


@dataclass(frozen=True, kw_only=True)
class DecordUniform(FrameRecipe):
    """max_frames_num."""

    name: ClassVar[str] = "lmms-eval/decord-uniform"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "n frames, first and last among them (LLaVA-OneVision and most)"
    trap: ClassVar[str] = "a clip shorter than n frames repeats some"

    max_frames_num: int = 32

    def select(self, video: VideoFacts) -> Selection:
        return Selection(tuple(spread_floor(0, video.frames - 1, self.max_frames_num)))


@dataclass(frozen=True, kw_only=True)
class Vila(DecordUniform):
    """max_frames_num."""

    name: ClassVar[str] = "lmms-eval/vila"
    about: ClassVar[str] = "n frames, the first and the last but one among them"
    trap: ClassVar[str] = "the last frame is never seen"

    def select(self, video: VideoFacts) -> Selection:
        return Selection(tuple(spread_floor(0, video.frames - 2, self.max_frames_num)))


@dataclass(frozen=True, kw_only=True)
class ReadVideoPyav(FrameRecipe):
    """num_frm, fps, or the fewer of both. `read_video_pyav` is its alias."""

    name: ClassVar[str] = "lmms-eval/read_video-pyav"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "n frames, or fps a second where those are fewer, first and last among them"
    trap: ClassVar[str] = "every frame where the header has no count, D·fps < 1, or the name holds webm or mkv"

    num_frm: int = 8
    fps: float | None = None
    force_include_last_frame: bool = False

    def select(self, video: VideoFacts) -> Selection:
        if "webm" in video.container or "mkv" in video.container:
            return Selection(tuple(range(video.frames)))
        try:
            wanted = self.choose(video)
        except RecipeError:
            wanted = []
        found = [i for i in sorted(set(wanted)) if i < video.frames]  # of what the decoder gives
        return Selection(tuple(found or range(video.frames)))

    def choose(self, video: VideoFacts) -> list[int]:
        T = video.frames if video.header_frames is None else video.header_frames
        n = min(self.num_frm, T)
        if self.fps is not None:
            if not video.fps:
                refuse("TypeError", "the frame rate is not known")
            n = min(n, int(T / video.fps * self.fps))
        return spread_forced(T, n) if self.force_include_last_frame else spread_floor(0, T - 1, n)


@dataclass(frozen=True, kw_only=True)
class ReadVideoTorchcodec(FrameRecipe):
    """num_frm, fps, or the fewer of both."""

    name: ClassVar[str] = "lmms-eval/read_video-torchcodec"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "as read_video-pyav, one frame at least"
    trap: ClassVar[str] = "fps is not read where the rate is not known"

    num_frm: int = 8
    fps: float | None = None
    force_include_last_frame: bool = False

    def select(self, video: VideoFacts) -> Selection:
        T = video.frames
        n = min(self.num_frm, T)
        if self.fps is not None and video.rate > 0:
            n = min(n, int(T / video.rate * self.fps))
        indices = spread_forced(T, max(1, n)) if self.force_include_last_frame else spread_floor(0, T - 1, max(1, n))
        return Selection(tuple(drop_repeats(indices)))


@dataclass(frozen=True, kw_only=True)
class LoadVideoPacket(FrameRecipe):
    """num_frm, fps, or the fewer of both."""

    name: ClassVar[str] = "lmms-eval/load_video_packet"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "n frames and the last one, where it is not among them"
    trap: ClassVar[str] = "may be n + 1; only the last frame of a clip shorter than 1/fps"

    num_frm: int = 8
    fps: float | None = None

    def select(self, video: VideoFacts) -> Selection:
        n = min(video.frames, self.num_frm)
        if self.fps is not None:
            n = min(n, int(duration_of(video) * self.fps))
        return Selection(tuple(with_last(spread_floor(0, video.frames - 1, n), video.frames - 1)))


@dataclass(frozen=True, kw_only=True)
class Openai(FrameRecipe):
    """video_fps, up to max_frames_num; or so many frames."""

    name: ClassVar[str] = "lmms-eval/openai"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "what is sent to an API: n frames, or video_fps a second, and the last one; PNG"
    trap: ClassVar[str] = "up to max_frames_num + 1; no times are sent, but for Qwen3-VL"

    max_frames_num: int = 32
    video_fps: float | None = None

    def select(self, video: VideoFacts) -> Selection:
        T, n = video.frames, self.max_frames_num
        if T <= 0:
            return Selection(())
        if self.video_fps and self.video_fps > 0 and video.rate > 0:
            indices = with_last(range(0, T, max(1, round(video.rate / self.video_fps))), T - 1)
            if 0 < n < len(indices):
                indices = with_last([indices[k] for k in spread_floor(0, len(indices) - 1, n)], T - 1)
        else:
            indices = with_last(spread_floor(0, T - 1, n), T - 1)
        return Selection(tuple(drop_repeats(indices)))


@dataclass(frozen=True, kw_only=True)
class LlavaVid(FrameRecipe):
    """fps, up to max_frames_num."""

    name: ClassVar[str] = "lmms-eval/llava_vid"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = (
        "every round(f/fps)-th frame; above the cap, or forced, n; the times are listed in a sentence"
    )
    trap: ClassVar[str] = "below the cap the k-th frame is called k seconds, whatever fps: right at fps 1 alone"

    max_frames_num: int = 64
    fps: float = 1.0
    force_sample: bool = False

    def select(self, video: VideoFacts) -> Selection:
        return select_strided(video, self.fps, self.max_frames_num, self.force_sample)


def select_strided(video: VideoFacts, fps: float, cap: int, force: bool) -> Selection:
    """LLaVA-Video: strides, or R1 above a cap (0: none); times of strides are counted in strides."""
    D = duration_of(video)
    stride = round(divide(video.rate, fps, "fps"))
    if stride == 0:
        refuse("ValueError", f"{video.rate:g} frames a second are no frame every 1/{fps:g} s")
    indices = list(range(0, video.frames, stride))
    times = tuple(i / stride for i in indices)
    if cap > 0 and (force or len(indices) > cap):
        indices = spread_floor(0, video.frames - 1, cap)
        times = seconds_of(indices, video.rate)
    return Selection(tuple(indices), two_digits(times), times, facts={"video_time": D})


@dataclass(frozen=True, kw_only=True)
class Videollama3(FrameRecipe):
    """fps, of films shorter than max_frames_num seconds; n frames of longer ones."""

    name: ClassVar[str] = "lmms-eval/videollama3"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "middles of steps of 1/fps, and the last frame; of 180 s and more, 180 frames"
    trap: ClassVar[str] = "the cap compares seconds with frames: fps 2 sends up to twice as many"

    fps: float | None = 1.0
    max_frames_num: int = 180
    force_include_last_frame: bool = True

    def select(self, video: VideoFacts) -> Selection:
        T, f, n = video.frames, rate_of(video), self.max_frames_num
        D = duration_of(video)
        if self.fps is not None and n > D:
            indices = self.step(T, f)
        else:
            indices = list(range(T)) if n >= T else spread_floor(0, T - 1, n)
        if self.force_include_last_frame:
            indices = with_last(indices, T - 1)
        times = seconds_of(indices, f)
        return Selection(tuple(indices), two_digits(times), times)

    def step(self, T: int, f: float) -> list[int]:
        """Start and stride are cut to whole numbers; how many there are is reckoned with what they were."""
        assert self.fps is not None
        stride = min(divide(f, self.fps, "fps") // 1 if self.fps else 0, T)
        start = stride // 2
        count = math.ceil(divide(T - start, stride, "the stride"))
        return [int(start) + k * (int(start + stride) - int(start)) for k in range(count)]


RECIPES = (
    DecordUniform,
    Vila,
    ReadVideoPyav,
    ReadVideoTorchcodec,
    LoadVideoPacket,
    Openai,
    LlavaVid,
    Videollama3,
)
