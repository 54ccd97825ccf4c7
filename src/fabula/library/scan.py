"""One video as clips: decoded once, its frames embedded, the clips' vectors their means, a small picture of each.

    frame i   the picture on the screen at (i + ½)/fps seconds                                    (media/decode.py)
    clip k    frames [k·s, k·s + n): v_k = Σ f_i / ‖Σ f_i‖, from k·s/fps to (k·s + n)/fps seconds or the video's end

The last clip has what is left, at least one frame that no clip before it had.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Progress, silent
from fabula.documents.fields import JsonDict
from fabula.library.embedders.base import Embedder, unit
from fabula.library.pictures import make_jpeg
from fabula.library.store import MOST_CLIPS, Entry, Video
from fabula.media.base import Pictures, hash_file, stamp
from fabula.media.decode import Video as Film
from fabula.media.pipeline import Stages

SHORTER = 120  # pixels that the shorter side has at least when it is decoded, for the sake of small pictures


@dataclass(frozen=True)
class Cut:
    """How a video is cut: frames per second, seconds of a clip, seconds from one to the next."""

    fps: float = 1.0
    clip: float = 2.0
    stride: float = 2.0

    def __post_init__(self) -> None:
        for name in ("fps", "clip", "stride"):
            object.__setattr__(self, name, float(getattr(self, name)))
        if not 0 < self.fps <= 1000:
            raise SpecError(f"--fps {self.fps:g}; frames per second lie between 0 and 1000")
        for name in ("clip", "stride"):
            seconds = getattr(self, name)
            frames = round(seconds * self.fps) if 0 < seconds < 1e6 else 0
            if not 1 <= frames <= 4096 or abs(frames - seconds * self.fps) > 1e-6:
                problem = f"--{name} {seconds:g} at {self.fps:g} frames per second"
                raise SpecError(f"{problem}; it is a whole number of frames, from 1 to 4096")
        if self.stride > self.clip:
            raise SpecError(
                f"--stride {self.stride:g} is longer than --clip {self.clip:g}; frames would be lost between"
            )

    @property
    def n(self) -> int:
        return round(self.clip * self.fps)

    @property
    def s(self) -> int:
        return round(self.stride * self.fps)

    def count(self, frames: int) -> int:
        """K, the clips of so many frames."""
        return 1 + max(0, -(-(frames - self.n) // self.s))

    def recipe(self) -> JsonDict:
        return {"fps": self.fps, "clip": self.clip, "stride": self.stride, "frames": self.n, "pool": "mean"}


@dataclass(frozen=True)
class Job:
    """A file to be looked at; with a digest, only if it is another one now."""

    video: str
    path: Path
    known: str | None = None


@dataclass(frozen=True)
class Scanned:
    """What came of it: rows to be written; without clips where nothing changed but the time of change, or it is bad."""

    entry: Entry
    touched: bool = False
    frames: int = 0  # pictures decoded
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Scanner:
    """The work on one video; a value that travels to whoever does it."""

    embedder: Embedder
    cut: Cut
    thumbs: bool = True
    watch: Progress = silent  # heard where the work is done in this process

    def __call__(self, job: Job) -> Scanned | None:
        """None where the file went away, or changed while it was read: the next run sees it as it is then."""
        try:
            before = stamp(job.path)
            result = self.scan(job, *before)
            return result if stamp(job.path) == before else None
        except FileNotFoundError:
            return None

    def scan(self, job: Job, size: int, mtime_ns: int) -> Scanned:
        try:
            if job.known and hash_file(job.path, size, mtime_ns) == job.known:
                row = Video(job.video, 0, size, mtime_ns, job.known, 0, 0, 0)
                return Scanned(no_clips(row, self.embedder.dims), True)
            return self.decode(job, size, mtime_ns)
        except InputError as error:
            if error.file != job.path:
                raise
            why = " ".join(str(error.problem).split())
            row = Video(job.video, 0, size, mtime_ns, "", 0.0, 0.0, 0, why)
            return Scanned(no_clips(row, self.embedder.dims))

    def decode(self, job: Job, size: int, mtime_ns: int) -> Scanned:
        """Decode, embed, cut; then hash: of what is no video nobody reads all bytes."""
        film = Film(job.path, self.cut.fps, max(self.embedder.resize, SHORTER))
        stages = Stages()
        vectors: list[NDArray[np.float32]] = []
        thumbs: dict[int, bytes] = {}
        buffer: list[Pictures] = []
        frames = 0

        numbers = count()

        def shrink(shown: tuple[float, Pictures]) -> Pictures:
            _, picture = shown
            k, rest = divmod(next(numbers) - self.cut.n // 2, self.cut.s)
            if self.thumbs and k >= 0 and not rest:  # the frame in the middle of a clip
                thumbs[k] = make_jpeg(picture)
            return picture

        decoded = stages.ahead("decode", film, depth=self.embedder.batch)
        with closing(stages.ahead("thumbs", decoded, shrink, depth=self.embedder.batch)) as pictures:
            for last in pictures:
                buffer.append(last)
                frames += 1
                if len(buffer) == self.embedder.batch:
                    with stages.clock("embed"):
                        vectors.append(self.embedder.frames(buffer))
                    buffer = []
                    self.watch(f"{job.path.name}", int(film.end), 0)
        if buffer:
            with stages.clock("embed"):
                vectors.append(self.embedder.frames(buffer))
        clips = self.cut.count(frames)
        if clips > MOST_CLIPS:
            raise InputError(
                f"has {clips:,} clips", file=job.path, hint=f"at most {MOST_CLIPS:,}; say --stride, --clip"
            )
        if self.thumbs:
            thumbs.setdefault(clips - 1, make_jpeg(last))
        digest = hash_file(job.path, size, mtime_ns)
        rate = film.decoded / film.duration if film.duration else 0.0
        row = Video(job.video, 0, size, mtime_ns, digest, film.duration, rate, clips)
        return Scanned(self.join(row, np.concatenate(vectors), thumbs.get), False, film.decoded, stages.seconds)

    def join(self, row: Video, f: NDArray[np.float32], thumb: Callable[[int], bytes | None]) -> Entry:
        """The clips of frames f [F, D]."""
        n, s = self.cut.n, self.cut.s
        k = np.arange(row.clips)
        v = unit(np.stack([f[i * s : i * s + n].astype(np.float64).mean(0) for i in k]))
        start = k * s / self.cut.fps
        end = np.minimum((k * s + n) / self.cut.fps, row.duration)
        return Entry(row, start, np.maximum(end, start), v, [thumb(int(i)) for i in k])


def no_clips(row: Video, dims: int) -> Entry:
    return Entry(row, np.zeros(0), np.zeros(0), np.zeros((0, dims), np.float32), [])
