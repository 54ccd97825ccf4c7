"""Small films with sound made here, so that what is heard at every moment is known."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

if importlib.util.find_spec("av") is None:
    collect_ignore_glob = ["test_*.py"]  # decoding needs fabula[speech]

RATE = 16_000
WriteFilm = Callable[..., Path]


def tone(seconds: float, rate: int = RATE, height: float = 440.0) -> np.ndarray[Any, Any]:
    return (0.5 * np.sin(2 * np.pi * height * np.arange(int(seconds * rate)) / rate)).astype(np.float32)


def write_film(
    path: Path,
    tracks: Sequence[tuple[int, np.ndarray[Any, Any]]] = (),
    *,
    rate: int = RATE,
    codec: str = "pcm_s16le",
    pictures: float = 0,
    languages: Sequence[str] = (),
    gaps: Sequence[tuple[int, int]] = (),
) -> Path:
    """A film with tracks of sound: (first sample, samples) each. Packets of 20 ms; `gaps`: (from, by how many samples)
    all later packets of the first track are late. `pictures`: seconds of grey ones."""
    import av

    with av.open(str(path), "w") as out:
        video = None
        if pictures:
            video = out.add_stream("mpeg4", rate=10)
            video.width = video.height = 32
            video.pix_fmt = "yuv420p"
        streams = []
        for i, _ in enumerate(tracks):
            stream = out.add_stream(codec, rate=rate, layout="mono")
            if languages:
                stream.metadata["language"] = languages[i]
            streams.append(stream)
        if video is not None:
            for i in range(int(pictures * 10)):
                frame = av.VideoFrame.from_ndarray(np.full((32, 32, 3), 90, np.uint8), "rgb24")
                frame.pts = i
                out.mux(video.encode(frame))
            out.mux(video.encode())
        step = rate // 50
        for number, (stream, (first, samples)) in enumerate(zip(streams, tracks, strict=True)):
            ints = (np.clip(samples, -1, 1) * 32767).astype(np.int16)
            for at in range(0, len(ints), step):
                frame = av.AudioFrame.from_ndarray(ints[None, at : at + step], format="s16", layout="mono")
                late = sum(by for since, by in gaps if at >= since) if number == 0 else 0
                frame.sample_rate, frame.pts = rate, first + at + late
                out.mux(stream.encode(frame))
            out.mux(stream.encode())
    return path


@pytest.fixture
def film(tmp_path: Path) -> WriteFilm:
    return lambda name, *parts, **more: write_film(tmp_path / name, *parts, **more)
