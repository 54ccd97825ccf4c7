"""When each picture of a film appears: the clock that frame recipes read, and the facts that other harnesses go by.

    packets   the container's list of times, without decoding: a thousandth of the work, and right for most films
    pictures  every picture decoded: what the packets must agree with when the frames are taken (media/frame_sets.py)

A file whose packets bear no times, or the same one twice, is decoded at once. Pictures come out of a decoder in the
order in which they are shown; some old AVI files number them otherwise, and there the k-th picture has the k-th time.
"""

from __future__ import annotations

from bisect import bisect_right
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError
from fabula.documents.files import check_path
from fabula.media.decode import Video, count_turns, find_pictures, import_av, name_faults, open_container
from fabula.media.sampling.base import VideoFacts


@dataclass(frozen=True, slots=True)
class FilmTimes:
    """When each picture of a film appears, in seconds from what a player calls 0:00, and when the last one ends."""

    path: Path
    times: tuple[Fraction, ...]
    end: Fraction
    rate: Fraction | None  # the container's average
    header_frames: int  # as the container counts; 0: it does not
    height: int  # upright, with square pixels
    width: int
    decoded: bool  # whether every picture was decoded for it

    @property
    def duration(self) -> float:
        return float(self.end)

    def facts(self) -> VideoFacts:
        """What other harnesses read: a number of frames and an average rate."""
        rate = None if self.rate is None else float(self.rate)
        ending = self.path.suffix.lower().removeprefix(".")
        return VideoFacts(
            len(self.times),
            rate,
            header_frames=self.header_frames,
            container=ending,
            height=self.height,
            width=self.width,
        )

    def frame_at(self, t: Fraction | float) -> int:
        """The picture on the screen at this time; before the first it is the first."""
        return max(0, bisect_right(self.times, t) - 1)

    def until(self, index: int) -> Fraction:
        """When the next picture appears, or the film ends."""
        return self.times[index + 1] if index + 1 < len(self.times) else max(self.end, self.times[index])


def measure_times(path: str | Path, exact: bool = False) -> FilmTimes:
    """The times of a film's pictures. `exact`: decode every one, rather than trust the packets."""
    path = check_path(path)
    found = None if exact else read_packets(path)
    return decode_times(path) if found is None else found


def read_packets(path: Path) -> FilmTimes | None:
    """By the packets' times; None where they do not say."""
    av = import_av()
    with name_faults(av, path), closing(open_container(av, path)) as container:
        stream = find_pictures(av, container, path)
        zero = Fraction(container.start_time or 0, av.time_base)
        stamps: list[tuple[Fraction, Fraction | None]] = []
        for packet in container.demux(stream):
            if packet.size == 0:  # the end
                continue
            if packet.pts is None or packet.is_discard or packet.is_corrupt:
                return None
            lasts = packet.duration * packet.time_base if packet.duration else None
            stamps.append((packet.pts * packet.time_base - zero, lasts))
        stamps.sort(key=lambda stamp: stamp[0])
        times = tuple(t for t, _ in stamps)
        if not times or times[0] < 0 or len(set(times)) < len(times):
            return None
        rate = stream.average_rate
        shape = see_first(path)
        last = stamps[-1][1] or 1 / (rate or stream.guessed_rate or Fraction(25))
        return FilmTimes(path, times, times[-1] + last, rate, stream.frames, *shape, decoded=False)


def see_first(path: Path) -> tuple[int, int]:
    """Height and width of the first picture, upright."""
    video = Video(path)
    with closing(video.walk()) as pictures:  # type: ignore[type-var]  # a generator
        for _, frame in pictures:
            return see_upright(video, frame)
    raise InputError("not one picture can be decoded", file=path, hint="leave the video out")


def see_upright(video: Video, frame: Any) -> tuple[int, int]:
    """Height and width as it is shown."""
    width, height = video.see_shape(frame)
    return (width, height) if count_turns(frame) % 2 else (height, width)


def decode_times(path: Path) -> FilmTimes:
    """By decoding every picture."""
    av = import_av()
    with name_faults(av, path), closing(open_container(av, path)) as container:
        stream = find_pictures(av, container, path)
        rate, header = stream.average_rate, stream.frames
    video, times, shape = Video(path), list[Fraction](), (0, 0)
    for t, frame in video.walk():
        if not times:
            shape = see_upright(video, frame)
        times.append(t)
    return FilmTimes(path, tuple(sorted(times)), video.end, rate, header, *shape, decoded=True)
