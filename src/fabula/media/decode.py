"""Pictures of a video at exact times, by PyAV (the libraries of FFmpeg).

    frame i at fps   the picture on the screen at (i + ½)/fps seconds, for every such time before the end
    zero             where the file's first stream begins: what a player calls 0:00
    end              the last picture's time and its own duration

Times are fractions, never rounded. Pictures come upright (rotation of phones), with square pixels, as red, green, blue;
the shorter side is brought to `resize` pixels by swscale's bicubic filter and the middle square of `size` is kept.
Every picture is decoded, so that none depends on where a seek would have landed. A file that breaks off or cannot be
decoded somewhere is refused: half a video would pass for a whole one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from fabula.core.errors import InputError, import_extra
from fabula.core.notes import announce
from fabula.documents.files import check_path
from fabula.media.base import Pictures

ENDINGS = (
    *(".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".ts", ".flv", ".wmv", ".asf", ".3gp"),
    *(".ogv", ".gif", ".vob", ".mts", ".m2ts", ".y4m"),
)
# Files of pictures alone: a playlist would lead to other files, on disk or elsewhere.
FORMATS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpeg,mpegts,flv,asf,ogg,gif,yuv4mpegpipe,mp3,wav,flac,aac,m4v"
MOST_PIXELS = 1 << 26  # of one picture: twice those of 8K
STRICT = "crccheck+bitstream+buffer+explode"  # a fault is an error: FFmpeg would paint over it in silence
FEW = 0.5  # of the pictures that the header counts: with fewer there is a warning
SHORT = 0.95  # a stream must reach so much of the length that its header tells …
SLACK = 1  # … or lack less than so many seconds
STILL = 3600  # seconds that one picture may stay on the screen: slides of an hour, not of a year


class Video:
    """The pictures of a file, decoded while they are walked over; what was seen on the way is known afterwards."""

    def __init__(
        self, path: str | Path, fps: float | None = None, resize: int | None = None, size: int | None = None
    ) -> None:
        self.path = check_path(path)
        self.fps = None if fps is None else Fraction(str(fps)).limit_denominator(1 << 20)
        self.resize, self.size = resize, size
        self.end = Fraction(0)  # seconds
        self.decoded = 0  # pictures
        self.shape = (0, 0)  # width and height on the screen
        self.ratio = Fraction(1)  # of a pixel, width to height

    @property
    def duration(self) -> float:
        """Seconds, once all of it was walked over."""
        return float(self.end)

    def __iter__(self) -> Iterator[tuple[float, Pictures]]:
        """Seconds and [H, W, 3]; without fps every picture at its own time."""
        for t, frame in self.sample() if self.fps else self.walk():
            yield float(t), self.convert(frame)

    def sample(self) -> Iterator[tuple[Fraction, Any]]:
        """The picture on the screen at every (i + ½)/fps."""
        for _, frame, numbers in self.steps():
            for i in numbers:
                yield self.time_of(i), frame

    def time_of(self, i: int) -> Fraction:
        assert self.fps
        return (i + Fraction(1, 2)) / self.fps

    def steps(self) -> Iterator[tuple[Fraction, Any, range]]:
        """Every picture as it is decoded, when it appears, and which i have it on the screen at (i + ½)/fps."""
        assert self.fps
        i, shown = 0, None
        for t, frame in self.walk():
            if shown is not None:
                numbers = range(i, max(i, math.ceil(t * self.fps - Fraction(1, 2))))
                i = numbers.stop
                yield (*shown, numbers)
            shown = t, frame
        if shown is not None:  # a video has one picture at least
            yield (*shown, range(i, max(i, math.ceil(self.end * self.fps - Fraction(1, 2)), 1)))

    def walk(self) -> Iterator[tuple[Fraction, Any]]:
        """Every picture as it is decoded, and when it appears."""
        av = import_av()
        with name_faults(av, self.path), closing(open_container(av, self.path)) as container:
            stream = find_pictures(av, container, self.path)
            zero = Fraction(container.start_time or 0, av.time_base)
            rate = stream.average_rate or stream.guessed_rate or Fraction(25)
            self.ratio = stream.sample_aspect_ratio or Fraction(1)
            length = stream.duration and stream.duration * stream.time_base
            if container.format.name == "avi" and stream.frames:  # FFmpeg shortens an AVI's duration to what is there
                length = stream.frames / rate
            t = self.end = Fraction(0)
            try:
                for frame in container.decode(stream):
                    t = frame.pts * frame.time_base - zero if frame.pts is not None else self.end
                    lasts = frame.duration * frame.time_base if frame.duration else 1 / rate
                    if (still := float(max(t - self.end, lasts))) > STILL:
                        raise InputError(
                            f"one picture lasts {still:,.0f} s, at {float(self.end):.1f} s",
                            file=self.path,
                            hint=f"its times are damaged (at most {STILL} s): get the file again, or leave it out",
                        )
                    self.end = max(self.end, t + lasts)
                    self.decoded += 1
                    if frame.is_corrupt:
                        raise InputError(
                            f"is damaged at {float(t):.1f} s: a picture had to be guessed",
                            file=self.path,
                            hint="get the file again, or leave it out",
                        )
                    yield t, frame
            except av.FFmpegError as error:
                raise InputError(
                    f"cannot be decoded at {float(self.end):.1f} s ({explain(error)})",
                    file=self.path,
                    hint="get the file again, or leave it out",
                ) from None
            if not self.decoded:
                raise InputError("not one picture can be decoded", file=self.path, hint="leave the video out")
            if length and self.end < min(SHORT * length, length - SLACK):
                raise InputError(
                    f"breaks off at {float(self.end):.1f} s; its header tells of {float(length):.1f} s",
                    file=self.path,
                    hint="get the file again, or leave it out",
                )
            if self.decoded < FEW * stream.frames:
                self.check_count(stream.frames, length)

    def check_count(self, frames: int, declared: Any) -> None:
        """Fewer pictures than the header tells of: an edited file may hide some, a damaged one loses them."""
        problem = f"{self.decoded:,} of {frames:,} pictures can be decoded"
        if declared and self.end > declared / SHORT + SLACK:
            problem += f", and they last {float(self.end):,.1f} s where its header tells of {float(declared):,.1f} s"
            raise InputError(problem, file=self.path, hint="its times are damaged: get the file again, or leave it out")
        announce(f"{self.path.name}: {problem}; the others are not looked at")

    def convert(self, frame: Any) -> Pictures:
        """[H, W, 3]; the same picture asked for again is not made again."""
        if (cached := getattr(self, "_last", None)) and cached[0] is frame:
            picture: Pictures = cached[1]
            return picture
        width, height = self.see_shape(frame)
        if self.resize:
            short = min(width, height)
            width, height = (max(self.resize, round(side * self.resize / short)) for side in (width, height))
        full = self.draw(frame, width, height)
        if self.size:
            y, x = ((side - self.size) // 2 for side in full.shape[:2])
            full = full[y : y + self.size, x : x + self.size]
        picture = np.ascontiguousarray(full)
        self._last = (frame, picture)
        return picture

    def see_shape(self, frame: Any) -> tuple[int, int]:
        """Width and height with square pixels, before it is turned upright; `shape` has them afterwards."""
        width, height = max(1, round(frame.width * self.ratio)), frame.height
        self.shape = (height, width) if count_turns(frame) % 2 else (width, height)
        return width, height

    def draw(self, frame: Any, width: int, height: int) -> Pictures:
        """Brought to this width and height, then turned upright."""
        full: Pictures = frame.to_ndarray(format="rgb24", width=width, height=height, interpolation="BICUBIC")
        turns = count_turns(frame)
        return np.rot90(full, turns) if turns else full


def count_turns(frame: Any) -> int:
    """Quarters to the left, as phones have it."""
    return round((frame.rotation or 0) / 90) % 4


def import_av() -> ModuleType:
    return import_extra("av", "decoding video", "features")


def open_container(av: ModuleType, path: Path) -> Any:
    if path.is_dir() or not path.exists():
        raise InputError("is a folder" if path.is_dir() else "no such file", file=path, hint="name a video")
    if not path.is_file():
        raise InputError("is a device or a pipe", file=path, hint="name a file: a video is read more than once")
    # `file:` so that no name is taken for an address
    options = {"format_whitelist": FORMATS, "protocol_whitelist": "file"}
    return av.open(f"file:{path.absolute()}", options=options)


def find_pictures(av: ModuleType, container: Any, path: Path) -> Any:
    """The stream of pictures; the cover of a song is none."""
    cover = av.stream.Disposition.attached_pic
    streams = [s for s in container.streams.video if not s.disposition & cover]
    if not streams:
        kinds = ", ".join(dict.fromkeys(s.type for s in container.streams)) or "none"
        raise InputError(f"has no pictures (streams: {kinds})", file=path, hint="leave it out")
    found = max(streams, key=lambda s: (s.width or 0) * (s.height or 0))
    if found.codec_context is None:
        raise InputError("its pictures are in a format that is not known here", file=path, hint="convert it to .mp4")
    found.codec_context.options = {"max_pixels": str(MOST_PIXELS), "err_detect": STRICT}
    if alone := os.environ.get("FABULA_THREADS"):  # one of many processes
        found.codec_context.thread_count = int(alone)
    found.thread_type = "AUTO"
    return found


@contextmanager
def name_faults(av: ModuleType, path: Path) -> Iterator[None]:
    """What FFmpeg refuses, as an InputError that names the file."""
    try:
        yield
    except av.FFmpegError as error:
        raise InputError(
            f"cannot be read as a video ({explain(error)})", file=path, hint="get the file again, or leave it out"
        ) from None


def explain(error: Exception) -> str:
    return getattr(error, "strerror", None) or type(error).__name__
