"""A stretch of a video as a file of its own, by PyAV.

    made anew    H.264 and AAC in .mp4: begins and ends on the picture asked for, and every browser plays it
    copied       packets as they are, from the last key picture before the start: where there is no encoder, or the
                 stretch is long. It may begin seconds early, which is said

Zero is where the file's first stream begins, as in media/decode.py: what a player calls 0:00.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from fabula.core.errors import InputError
from fabula.media.decode import find_pictures, import_av, name_faults, open_container

LONG = 180.0  # seconds: beyond, packets are copied
EARLY = (
    1  # second before the start and after the end in which sound is looked for: files put it beside pictures loosely
)
ENCODER = "libx264"
SETTINGS = {"crf": "21", "preset": "veryfast"}
WIDEST = 1920  # pixels of what is made anew


class Cut(NamedTuple):
    """What was made: where it begins in its video, for how long, and how."""

    start: float
    end: float
    how: str  # "anew" or "copied"


def can_cut() -> bool:
    try:
        import_av()
    except Exception:
        return False
    return True


def cut(path: Path, start: float, end: float, out: Path) -> Cut:
    """Write [start, end) of a video as `out`, an .mp4."""
    av = import_av()
    with name_faults(av, path):
        if end - start > LONG or ENCODER not in av.codecs_available:
            return copy_packets(av, path, start, end, out)
        return make_anew(av, path, start, end, out)


def find_sound(container: Any) -> Any:
    """The first stream of sound that can be decoded, or None."""
    return next((s for s in container.streams.audio if s.codec_context is not None), None)


def zero_of(av: ModuleType, container: Any) -> Fraction:
    return Fraction(container.start_time or 0, av.time_base)


def seek(av: ModuleType, container: Any, stream: Any, t: Fraction) -> None:
    """To the last key picture at or before t, counted from the file's own zero."""
    at = t + zero_of(av, container)
    container.seek(int(max(at, Fraction(0)) / stream.time_base), stream=stream, backward=True)


def make_anew(av: ModuleType, path: Path, start: float, end: float, out: Path) -> Cut:
    with closing(open_container(av, path)) as source, closing(open_out(av, out)) as target:
        pictures, sound = find_pictures(av, source, path), find_sound(source)
        zero, begin, stop = zero_of(av, source), Fraction(start), Fraction(end)
        seek(av, source, pictures, begin - (EARLY if sound is not None else 0))
        writer: PictureWriter | None = None
        heard: list[Any] = []  # until the first picture has told what is made
        voice: SoundWriter | None = None
        last = begin
        for frame in source.decode([pictures, *([sound] if sound is not None else [])]):
            if frame.pts is None:
                continue
            t = frame.pts * frame.time_base - zero
            if isinstance(frame, av.VideoFrame):
                lasts = frame.duration * frame.time_base if frame.duration else Fraction(1, 25)
                if t >= stop + (EARLY if sound is not None else 0):
                    break
                if begin < t + lasts and t < stop:
                    if writer is None:
                        writer = PictureWriter(av, target, pictures, frame)
                        voice = SoundWriter(av, target, sound) if sound is not None else None
                    writer.add(frame, max(Fraction(0), t - begin))
                    last = min(stop, t + lasts)
            elif begin <= t < stop:
                heard.append(frame)
            if voice is not None and heard:
                voice.add(heard.pop(0))
        if writer is None:
            raise InputError(f"has no picture between {start:.1f} and {end:.1f} s", file=path, hint="index it again")
        writer.close()
        if voice is not None:
            voice.close(heard)
    return Cut(start, float(last), "anew")


class PictureWriter:
    """Pictures at their own times, upright and with square pixels, encoded as H.264."""

    BASE = Fraction(1, 90_000)

    def __init__(self, av: ModuleType, target: Any, like: Any, first: Any) -> None:
        self.av, self.target, self.before = av, target, -1
        rate = Fraction(like.average_rate or like.guessed_rate or 25).limit_denominator(1001)
        self.turns = round((first.rotation or 0) / 90) % 4  # quarters to the left
        width, height = round(first.width * Fraction(like.sample_aspect_ratio or 1)), first.height
        shrink = min(1.0, WIDEST / max(width, height))
        self.size = tuple(max(2, round(x * shrink) // 2 * 2) for x in (width, height))
        self.stream = target.add_stream(ENCODER, rate=rate, options=SETTINGS)
        self.stream.width, self.stream.height = self.size[::-1] if self.turns % 2 else self.size
        self.stream.pix_fmt = "yuv420p"
        self.stream.codec_context.time_base = self.BASE

    def add(self, frame: Any, t: Fraction) -> None:
        fitting = frame.reformat(*self.size, "yuv420p")
        if self.turns:
            turned = np.ascontiguousarray(np.rot90(fitting.to_ndarray(format="rgb24"), self.turns))
            fitting = self.av.VideoFrame.from_ndarray(turned, "rgb24").reformat(format="yuv420p")
        self.before = max(self.before + 1, round(t / self.BASE))  # times only grow
        fitting.pts, fitting.time_base = self.before, self.BASE
        fitting.pict_type = self.av.video.frame.PictureType.NONE
        self.target.mux(self.stream.encode(fitting))

    def close(self) -> None:
        self.target.mux(self.stream.encode())


class SoundWriter:
    """Sound as AAC in stereo."""

    def __init__(self, av: ModuleType, target: Any, like: Any) -> None:
        rate = min(like.codec_context.sample_rate or 44_100, 48_000)
        self.target, self.stream = target, target.add_stream("aac", rate=rate)
        self.stream.layout = "stereo"
        self.resampler = av.AudioResampler(format="fltp", layout="stereo", rate=rate)
        self.heard = 0

    def add(self, frame: Any) -> None:
        frame.pts = None
        self.put(self.resampler.resample(frame))

    def put(self, frames: Any) -> None:
        for frame in frames:
            frame.pts, frame.time_base = self.heard, Fraction(1, self.stream.rate)
            self.heard += frame.samples
            self.target.mux(self.stream.encode(frame))

    def close(self, rest: list[Any]) -> None:
        for frame in rest:
            self.add(frame)
        if self.heard:
            self.put(self.resampler.resample(None))
        self.target.mux(self.stream.encode())


def copy_packets(av: ModuleType, path: Path, start: float, end: float, out: Path) -> Cut:
    """Packets from the key picture before the start to the end, their times counted from there."""
    with closing(open_container(av, path)) as source, closing(open_out(av, out)) as target:
        pictures, sound = find_pictures(av, source, path), find_sound(source)
        zero, stop = zero_of(av, source), Fraction(end)
        seek(av, source, pictures, Fraction(start))
        targets = {pictures.index: target.add_stream_from_template(pictures)}
        if sound is not None:
            targets[sound.index] = target.add_stream_from_template(sound)
        begun: Fraction | None = None
        last = Fraction(0)
        for packet in packets(source, [pictures, *([sound] if sound is not None else [])], zero, stop):
            t = packet.dts * packet.time_base - zero
            if begun is None:
                if packet.stream.index != pictures.index or not packet.is_keyframe:
                    continue
                begun = packet.pts * packet.time_base - zero
            shift = int((begun + zero) / packet.time_base)
            packet.pts, packet.dts = packet.pts - shift, packet.dts - shift
            packet.stream = targets[packet.stream.index]
            last = max(last, t)
            target.mux(packet)
        if begun is None:
            raise InputError(f"has no key picture before {end:.1f} s", file=path, hint="index it again")
    return Cut(float(begun), float(last), "copied")


def packets(source: Any, streams: list[Any], zero: Fraction, stop: Fraction) -> Iterator[Any]:
    over = set[int]()
    for packet in source.demux(streams):
        if packet.dts is None or packet.pts is None:
            continue
        if packet.dts * packet.time_base - zero >= stop:
            over.add(packet.stream.index)
            if packet.stream.index == streams[0].index:
                return
        elif packet.stream.index not in over:
            yield packet


def open_out(av: ModuleType, out: Path) -> Any:
    return av.open(f"file:{out.absolute()}", "w", format="mp4", options={"movflags": "+faststart"})
