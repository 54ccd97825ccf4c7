"""Films that break the assumption of a constant rate, made of coded pictures: each frame says when it appears."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from fabula.media.coded.code import PictureCode, draw_code

Maker = Callable[[Path], Path]
TICKS = 1000  # a second: times in ms


def write_film(
    path: Path,
    times: Sequence[int],
    *,
    codec: str = "mpeg4",
    sound: float = 0.0,
    start: int = 0,
    options: dict[str, str] | None = None,
) -> Path:
    """A film whose i-th picture appears at times[i] ms and says so; with so many seconds of sound."""
    import av

    with av.open(str(path), "w", options=options or {}) as out:
        stream = out.add_stream(codec, rate=25)
        stream.width, stream.height, stream.pix_fmt = 192, 160, "yuv420p"
        stream.bit_rate = 2_000_000
        stream.codec_context.time_base = Fraction(1, TICKS)
        audio = out.add_stream("aac", rate=8000, layout="mono") if sound else None
        for ms in times:
            frame = av.VideoFrame.from_ndarray(draw_code(PictureCode(ms), 160, 192), "rgb24")
            frame.pts, frame.time_base = ms + start, Fraction(1, TICKS)
            out.mux(stream.encode(frame))
        out.mux(stream.encode())
        if audio is not None:
            for k in range(0, round(sound * 8000), 1024):
                block = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
                block.sample_rate, block.pts, block.time_base = 8000, k, Fraction(1, 8000)
                out.mux(audio.encode(block))
            out.mux(audio.encode())
    return path


def turn(path: Path) -> Path:
    """The matrix of a phone held upright, a quarter to the right, put into the file's head by hand."""
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 4 + 40  # version 0: the matrix follows 40 bytes
    one, minus, zero = (1 << 16).to_bytes(4, "big"), (-(1 << 16)).to_bytes(4, "big", signed=True), bytes(4)
    matrix = [zero, one, zero, minus, zero, zero, (160 << 16).to_bytes(4, "big"), zero, (1 << 30).to_bytes(4, "big")]
    data[at : at + 36] = b"".join(matrix)
    path.write_bytes(data)
    return path


STEADY = list(range(0, 4000, 40))  # 25 a second
VARIABLE = [0, 40, 80, 700, 740, 1900, 1933, 2500, 3100, 3140, 3999]
SLIDES = [0, 5000, 5040, 12000]

ODD: dict[str, Maker] = {
    "variable": lambda folder: write_film(folder / "v.mp4", VARIABLE),
    "slides": lambda folder: write_film(folder / "s.mkv", SLIDES),
    "one frame": lambda folder: write_film(folder / "one.mp4", [0]),
    "one frame mkv": lambda folder: write_film(folder / "one.mkv", [0]),
    "no duration": lambda folder: write_film(folder / "live.mkv", STEADY, options={"live": "1"}),
    "turned": lambda folder: turn(write_film(folder / "t.mp4", STEADY)),
    "sound longer": lambda folder: write_film(folder / "a.mp4", STEADY, sound=9.0),
    "sound first": lambda folder: write_film(folder / "l.mkv", STEADY, sound=6.0, start=500),
    "avi": lambda folder: write_film(folder / "a.avi", STEADY),
    "steady": lambda folder: write_film(folder / "c.mp4", STEADY),
}
