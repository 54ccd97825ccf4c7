"""The sound of a film at exact times: one track, mixed to one channel at 16 kHz, decoded as it is walked over.

    sample i   the sound at i/16000 seconds after the film's zero, which is that of its pictures (media/decode.py)
    a gap      where a track begins late, or nothing is stored for a while, there is silence
    a fault    a track that cannot be decoded somewhere, or breaks off, is refused: half of it would pass for the whole

Blocks are short, so that memory stays the same for a film of hours.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError, import_extra
from fabula.documents.files import check_path
from fabula.media.decode import SHORT, SLACK, STILL, STRICT, explain, name_faults, open_container

Samples = NDArray[np.float32]  # from -1 to 1

RATE = 16_000  # samples a second
BLOCK = RATE  # samples of a block
JUMP = 0.05  # seconds between where a packet should begin and where it says it begins, below which it is no gap


CLOCK = re.compile(r"(\d+):(\d+):(\d+\.\d+)")


class NoSoundError(InputError):
    """A film without a track of sound: nothing is said in it."""


class Sound:
    """The sound of a film in blocks of a second; what was found out on the way is known afterwards."""

    def __init__(self, path: str | Path, track: int | None = None) -> None:
        self.path = check_path(path)
        self.track = track  # from 1; None: the default one, else the first
        self.tracks: list[str] = []  # what the film has
        self.chosen = 0  # from 1
        self.end = Fraction(0)  # seconds

    @property
    def duration(self) -> float:
        """Seconds of the track, once all of it was walked over."""
        return float(self.end)

    def __iter__(self) -> Iterator[Samples]:
        """Blocks of BLOCK samples; the last may be shorter."""
        rest = np.zeros(0, np.float32)
        for piece in self.decode():
            rest = np.concatenate([rest, piece])
            while len(rest) >= BLOCK:
                yield rest[:BLOCK]
                rest = rest[BLOCK:]
        if len(rest):
            yield rest

    def decode(self) -> Iterator[Samples]:
        """Pieces as they are decoded, gaps filled."""
        av = import_extra("av", "decoding sound", "speech")
        with name_faults(av, self.path), closing(open_container(av, self.path)) as container:
            stream = self.find_track(container)
            zero = Fraction(container.start_time or 0, av.time_base)
            clock = Clock(av, self.path)
            try:
                for frame in container.decode(stream):
                    time = None if frame.pts is None else frame.pts * frame.time_base - zero
                    yield from clock.add(frame, time)
                    self.end = clock.end
                yield from clock.flush()
            except av.FFmpegError as error:
                raise InputError(
                    f"its sound cannot be decoded at {float(clock.end):.1f} s ({explain(error)})",
                    file=self.path,
                    hint="get the file again, or leave it out",
                ) from None
            self.end = clock.end
            if not clock.frames:
                raise InputError("nothing of its sound can be decoded", file=self.path, hint="leave the film out")
            end = find_end(container, stream, zero, clock.first)
            lack = Fraction(0) if end is None else end - self.end
            if end is not None and lack > SLACK and lack > (1 - SHORT) * (end - clock.first):
                raise InputError(
                    f"its sound breaks off at {float(self.end):.1f} s of {float(end):.1f} s",
                    file=self.path,
                    hint="get the file again, or leave it out",
                )

    def find_track(self, container: Any) -> Any:
        """The track that was asked for, else the default one, else the first that can be decoded."""
        streams = list(container.streams.audio)
        if not streams:
            kinds = ", ".join(dict.fromkeys(s.type for s in container.streams)) or "none"
            raise NoSoundError(f"has no sound (streams: {kinds})", file=self.path, hint="leave it out")
        self.tracks = [describe_track(s, i) for i, s in enumerate(streams, 1)]
        if self.track is not None:
            if not 1 <= self.track <= len(streams):
                raise SpecError(f"--track {self.track}; {self.path.name} has {', '.join(self.tracks)}")
            found = streams[self.track - 1]
        else:
            known = [s for s in streams if s.codec_context is not None] or streams
            found = next((s for s in known if s.disposition.name and "default" in s.disposition.name), known[0])
        self.chosen = streams.index(found) + 1
        if found.codec_context is None:
            raise InputError(
                "its sound is in a format that is not known here", file=self.path, hint="convert it to AAC"
            )
        found.codec_context.options = {"err_detect": STRICT}
        if alone := os.environ.get("FABULA_THREADS"):  # one of many processes
            found.codec_context.thread_count = int(alone)
        return found


def find_end(container: Any, stream: Any, zero: Fraction, first: Fraction) -> Fraction | None:
    """Where a track ends, as the file tells; None where it does not, or FFmpeg only guesses (AVI)."""
    if container.format.name == "avi":
        return None
    if stream.duration:
        return first + Fraction(stream.duration * stream.time_base)
    match = CLOCK.fullmatch(stream.metadata.get("DURATION", ""))  # of Matroska: the last time that it stores
    return match and int(match[1]) * 3600 + int(match[2]) * 60 + Fraction(match[3]) - zero


def describe_track(stream: Any, number: int) -> str:
    """`2 (deu, aac)`"""
    name = getattr(stream.codec_context, "name", None) or "unknown"
    language = stream.metadata.get("language", "")
    return f"{number} ({', '.join(filter(None, ['' if language == 'und' else language, name]))})"


class Clock:
    """Puts decoded frames in their places on the time axis, at one rate in one channel.

    Frames that follow each other are one run with one resampler; a gap, an overlap or another rate begins a new one.
    """

    def __init__(self, av: ModuleType, path: Path) -> None:
        self.av, self.path = av, path
        self.frames = 0
        self.first = Fraction(0)  # seconds: where the first frame begins
        self.end = Fraction(0)  # where the frames so far end
        self.written = 0  # samples given out
        self.skip = 0  # samples of this run that lie before those
        self.shape: tuple[object, ...] = ()
        self.resampler: Any = None

    def add(self, frame: Any, time: Fraction | None) -> Iterator[Samples]:
        """The samples of one more frame, as far as the resampler gives them."""
        shape = (frame.format.name, frame.layout.name, frame.sample_rate)
        begin = self.end if time is None else time
        if begin - self.end > STILL:
            raise InputError(
                f"its sound has a gap of {float(begin - self.end):,.0f} s, at {float(self.end):.1f} s",
                file=self.path,
                hint=f"its times are damaged (at most {STILL} s): get the file again, or leave it out",
            )
        if not self.frames:
            self.first = begin
        if shape != self.shape or abs(begin - self.end) > JUMP:
            yield from self.flush()
            yield from self.begin_run(begin)
            self.shape = shape
        self.frames += 1
        self.end += Fraction(frame.samples, frame.sample_rate)
        frame.pts = None
        yield from self.convert(frame)

    def begin_run(self, begin: Fraction) -> Iterator[Samples]:
        """Silence up to where the run begins."""
        self.resampler = self.av.AudioResampler(format="flt", layout="mono", rate=RATE)
        self.end = begin
        missing = round(begin * RATE) - self.written
        self.skip = max(0, -missing)
        while missing > 0:
            yield np.zeros(min(BLOCK, missing), np.float32)
            self.written += min(BLOCK, missing)
            missing -= BLOCK

    def flush(self) -> Iterator[Samples]:
        """What the resampler holds back."""
        if self.resampler is not None:
            yield from self.convert(None)
            self.resampler = None

    def convert(self, frame: Any) -> Iterator[Samples]:
        for piece in self.resampler.resample(frame):
            samples: Samples = piece.to_ndarray().reshape(-1)[self.skip :]
            self.skip = max(0, self.skip - piece.samples)
            self.written += len(samples)
            if len(samples):
                yield np.ascontiguousarray(np.nan_to_num(samples))
