"""The frames of vLLM 0.33.0: its loaders, which cut a video before the model's processor sees it.

    opencv          n = min(num_frames or T, ⌊D·fps⌋), ≥ 1;  R1
    opencv_dynamic  D ≤ max: every ⌈i·f/fps⌉;  longer: ⌈f·t⌉ for t spread over 0 … D (GLM-4V)
    qwen2_vl        as transformers/qwen2_vl, the tail held at T − 1        qwen3_vl   as transformers/qwen3_vl
    glm46v          2·3, 2·1 or 2·½ a second by length: the first frame at or after each tick
    molmo2          one of two modes, by the model's processor
    video-jpeg      pictures sent as one video: which are kept, and which times they get

The processor samples again where `resample_flag` is set: every frame was read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from fabula.documents.fields import JsonDict
from fabula.media.sampling._labels import label_pairs, one_digit
from fabula.media.sampling._qwen import LEAST, MOST, PAIR
from fabula.media.sampling._roundings import spread, spread_even, spread_floor, step_float32
from fabula.media.sampling.base import (
    EVERYTHING,
    FrameRecipe,
    Selection,
    VideoFacts,
    divide,
    drop_repeats,
    floor_to,
    refuse,
)
from fabula.media.sampling.transformers import GUESS

ORIGIN, VERSION = "vllm", "0.33.0"
FASTEST = 30.0  # frames a second that a request may ask of the Qwen loaders
SERVER = 32  # frames that the server takes by itself


def read_facts(video: VideoFacts, indices: Sequence[int]) -> JsonDict:
    """What the loader passes on."""
    return {
        "metadata_fps": video.rate,
        "metadata_duration": length_of(video),
        "resample_flag": len(set(indices)) == video.frames,
    }


def length_of(video: VideoFacts) -> float:
    """D as OpenCV has it; 0 where the rate is not known."""
    if video.duration is not None:
        return video.duration
    return video.frames / video.rate if video.rate > 0 else 0


def length_or_guess(video: VideoFacts) -> float:
    """The same; of a video without a length so many whole seconds as its last frame needs."""
    known = length_of(video)
    return known or (round((video.frames - 1) / video.rate) + 1 if video.rate > 0 else 0)


@dataclass(frozen=True, kw_only=True)
class Opencv(FrameRecipe):
    """num_frames, fps, or the fewer of both."""

    name: ClassVar[str] = "vllm/opencv"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "first and last frame and even ones between; the server's default is num_frames=32"
    trap: ClassVar[str] = "32 frames of a film of any length, where nothing is said; fps alone has no cap"

    num_frames: int = -1  # none
    fps: float = -1.0  # none

    def select(self, video: VideoFacts) -> Selection:
        T, n = video.frames, video.frames
        if self.num_frames > 0:
            n = min(self.num_frames, T)
        if self.fps > 0:
            n = min(n, math.floor(length_of(video) * self.fps))
        n = max(1, n)
        indices = list(range(T)) if n == T else spread_floor(0, T - 1, n)
        return Selection(tuple(indices), facts=read_facts(video, indices))


@dataclass(frozen=True, kw_only=True)
class OpencvDynamic(FrameRecipe):
    """fps (2), up to max_duration seconds (300)."""

    name: ClassVar[str] = "vllm/opencv_dynamic"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "2 a second up to 300 s, 600 over the whole of a longer film (GLM-4V)"
    trap: ClassVar[str] = "num_frames is not read; no frame at all where the rate is not known or D·fps < 1"

    fps: float = 2.0
    max_duration: float = 300.0
    num_frames: int = -1  # not read

    def select(self, video: VideoFacts) -> Selection:
        T, f, D = video.frames, video.rate, length_or_guess(video)
        if self.max_duration >= D:
            marks = [math.ceil(i * f / self.fps) for i in range(math.floor(D * self.fps))]
        elif (n := int(self.max_duration * self.fps)) >= T:
            marks = list(range(T))
        else:
            marks = [math.ceil(t * f) for t in spread(0, D, n)]
        indices = sorted({min(i, T - 1) for i in marks})
        facts = read_facts(video, indices) | {"metadata_duration": D}
        return Selection(tuple(indices), facts=facts)


@dataclass(frozen=True, kw_only=True)
class Qwen2VL(FrameRecipe):
    """fps (2), up to 30; num_frames is not read."""

    name: ClassVar[str] = "vllm/qwen2_vl"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "as transformers/qwen2_vl at 2 a second, frame T held at T − 1"
    trap: ClassVar[str] = "num_frames is not read; an unknown rate raises"

    fps: float = 2.0
    min_frames: int = LEAST
    max_frames: int = MOST
    num_frames: int = -1  # not read

    def select(self, video: VideoFacts) -> Selection:
        T = video.frames
        if video.rate <= 0:
            refuse("ValueError", "the frame rate is not known")
        most = floor_to(min(self.max_frames, T), PAIR)
        n = T / video.rate * min(self.fps, FASTEST)
        n = floor_to(min(max(n, self.min_frames), most, T), PAIR)
        step = divide(T, n, "the number of frames")
        indices = [min(i, T - 1) for i in step_float32(0, T, step)]
        return Selection(tuple(indices), facts=read_facts(video, indices))


@dataclass(frozen=True, kw_only=True)
class Qwen3VL(FrameRecipe):
    """fps (2), up to 30; num_frames is not read."""

    name: ClassVar[str] = "vllm/qwen3_vl"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "as transformers/qwen3_vl at 2 a second, 4 to 768; `<12.3 seconds>` before every two"
    trap: ClassVar[str] = "num_frames is not read; a rate of 0 counts as 24"

    fps: float = 2.0
    min_frames: int = LEAST
    max_frames: int = MOST
    num_frames: int = -1  # not read

    def select(self, video: VideoFacts) -> Selection:
        T, f = video.frames, video.rate if video.rate > 0 else GUESS
        n = int(T / f * min(self.fps, FASTEST))
        n = min(max(n, self.min_frames), min(self.max_frames, MOST), T)
        indices = spread_even(0, T - 1, n)
        times = label_pairs(indices, f)
        facts = read_facts(video, indices) | {"metadata_fps": f}
        return Selection(tuple(indices), one_digit(times), times, PAIR, facts)


@dataclass(frozen=True, kw_only=True)
class Glm46v(FrameRecipe):
    """Nothing is set: the length decides."""

    name: ClassVar[str] = "vllm/glm46v"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "6 a second up to 30 s, 2 up to 300 s, then 1; at most 640, an even number"
    trap: ClassVar[str] = "fps and num_frames are not read; 30.1 s get a third of the frames of 30 s"

    def select(self, video: VideoFacts) -> Selection:
        indices = self.choose(video) if video.rate > 0 else []
        facts = read_facts(video, indices) | {"metadata_duration": length_or_guess(video)}
        return Selection(tuple(indices), facts=facts)

    def choose(self, video: VideoFacts) -> list[int]:
        T, D = video.frames, length_or_guess(video)
        rate = PAIR * (3 if D <= 30 else 1 if D <= 300 else 0.5)  # a second
        n = min(int(min(D, 2400) * rate), 640)
        indices = spread_floor(0, T - 1, n) if n > T else take_ticks(video, 1 / rate, int(D))
        if len(indices) < n:
            first, last = (indices[0], indices[-1]) if indices else (0, max(T - 1, 0))
            indices = spread_floor(first, last, n)
        elif len(indices) > n:
            indices = spread_floor(0, T - 1, n)
        found = drop_repeats(indices)
        return found + found[-1:] * (len(found) % 2)


def take_ticks(video: VideoFacts, step: float, end: int) -> list[int]:
    """The first frame at or after every tick; ticks are added up, and end with the first at or after `end`."""
    found: list[int] = []
    tick, lasts = 0.0, 1 / video.rate
    for i in range(video.frames):
        if i * lasts >= tick:
            tick += step
            found.append(i)
            if tick >= end:
                break
    return found


Mode = Literal["none", "uniform_last_frame", "fps", "other"]


@dataclass(frozen=True, kw_only=True)
class Molmo2(FrameRecipe):
    """num_frames, by the mode of the model's processor."""

    name: ClassVar[str] = "vllm/molmo2"
    origin: ClassVar[str] = ORIGIN
    version: ClassVar[str] = VERSION
    about: ClassVar[str] = "uniform_last_frame: max_fps a second and the last frame; fps: a whole divisor of the rate"
    trap: ClassVar[str] = "fps: a rate whose whole part is no multiple of sampling_fps raises; no mode: every frame"

    num_frames: int = -1  # all
    frame_sample_mode: Mode = "none"
    max_fps: float = 2.0  # of uniform_last_frame
    sampling_fps: int = 2  # of fps, at the least

    def select(self, video: VideoFacts) -> Selection:
        if self.frame_sample_mode == "none":
            indices = list(range(video.frames))
        elif self.frame_sample_mode == "uniform_last_frame":
            indices = self.spread_to_last(video)
        elif self.frame_sample_mode == "fps":
            indices = self.step_evenly(video)
        else:
            refuse("NotImplementedError", f"there is no mode {self.frame_sample_mode!r}")
        return Selection(tuple(indices), facts=read_facts(video, indices))

    def spread_to_last(self, video: VideoFacts) -> list[int]:
        last, n = video.frames - 1, self.num_frames
        if length_of(video) > (n - 1) / self.max_fps:
            return spread_floor(0, last, n)
        step = video.rate / self.max_fps
        if step <= 0:
            refuse("ZeroDivisionError", "the frame rate is 0")
        found = [round(i * step) for i in range(math.ceil(last / step))]
        return found if found and found[-1] == last else [*found, last]

    def step_evenly(self, video: VideoFacts) -> list[int]:
        """Of the divisors of f that are multiples of sampling_fps, up to 8, the densest whose frames fit."""
        f, n = int(video.rate), self.num_frames
        if f <= 0 or f % self.sampling_fps:
            refuse("ValueError", f"{f} frames a second are no multiple of sampling_fps={self.sampling_fps}")
        rates = [r for r in range(self.sampling_fps, min(f, 8) + 1, self.sampling_fps) if f % r == 0]
        chosen, most = None, 0
        for rate in rates:
            count = int(video.frames / max(int(video.rate / rate), 1))
            if most and count > n:
                break
            if not most or count > most:
                chosen, most = rate, count
        if chosen is None:
            refuse("ValueError", f"no rate up to 8 divides {f} frames a second")
        return list(range(0, video.frames, max(int(video.rate / chosen), 1)))[:n]


@dataclass(frozen=True, slots=True)
class JpegVideo:
    """Settings of `data:video/jpeg;base64,A,B,…`, as `media_io_kwargs` has them; None: not sent."""

    num_frames: int = SERVER  # -1: all
    fps: float | None = None
    frames_indices: Sequence[int] | None = None
    total_num_frames: int | None = None
    duration: float | None = None
    do_sample_frames: bool = False

    def describe(self, pictures: int) -> tuple[JsonDict, tuple[float, ...]]:
        """What the model's processor is told, and the times that Qwen3-VL reads, one for every two pictures.

        The first num_frames pictures are kept, whatever their times; index k is at k/fps."""
        count = pictures if self.num_frames < 0 else min(pictures, self.num_frames)
        fps = 1.0 if self.fps is None else float(self.fps)
        indices = self.check_indices(count)
        total = self.check_total(count)
        if self.duration is not None and not self.duration >= 0:
            refuse("ValueError", f"duration={self.duration}")
        duration = (total / fps if fps > 0 else 0.0) if self.duration is None else float(self.duration)
        facts: JsonDict = {
            "frames_kept": count,
            "fps": fps,
            "duration": duration,
            "total_num_frames": total,
            "frames_indices": indices,
            "do_sample_frames": self.do_sample_frames,
        }
        return facts, label_pairs(indices, fps) if fps > 0 and indices else ()

    def check_indices(self, count: int) -> list[int]:
        if self.frames_indices is None:
            return list(range(count))
        found = self.frames_indices
        fine = isinstance(found, list | tuple) and all(type(i) is int and 0 <= i < EVERYTHING * 1000 for i in found)
        if not fine or len(found) != count:
            refuse("ValueError", f"frames_indices must be {count} whole numbers, one for each picture that is kept")
        return list(found)

    def check_total(self, count: int) -> int:
        if self.total_num_frames is None:
            return count
        if type(self.total_num_frames) is not int or self.total_num_frames < count:
            refuse("ValueError", f"total_num_frames={self.total_num_frames} for {count} pictures")
        return self.total_num_frames


RECIPES = (Opencv, OpencvDynamic, Qwen2VL, Qwen3VL, Glm46v, Molmo2)
