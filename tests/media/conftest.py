"""Small videos made here, so that what stands in them at every moment is known."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

if importlib.util.find_spec("av") is None:
    collect_ignore_glob = ["test_*.py"]  # decoding needs fabula[features]

Film = Callable[..., Path]


def grey(value: int, height: int = 48, width: int = 64) -> np.ndarray[Any, Any]:
    return np.full((height, width, 3), value, np.uint8)


def write_video(
    path: Path,
    pictures: Iterable[Any],
    *,
    fps: Any = 10,
    codec: str = "ffv1",
    pix_fmt: str = "bgr0",
    pts: list[int] | None = None,
) -> Path:
    """A film of these pictures; ffv1 loses nothing. `pts` in ticks of 1/fps."""
    import av

    pictures = list(pictures)
    rate = Fraction(fps)
    with av.open(str(path), "w") as out:
        stream = out.add_stream(codec, rate=rate)
        stream.height, stream.width = pictures[0].shape[:2]
        stream.pix_fmt = pix_fmt
        stream.codec_context.time_base = 1 / rate
        for i, picture in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(picture, "rgb24")
            frame.pts, frame.time_base = (pts or range(len(pictures)))[i], 1 / rate
            out.mux(stream.encode(frame))
        out.mux(stream.encode())
    return path


def write_sound(path: Path) -> Path:
    import av

    with av.open(str(path), "w") as out:
        stream = out.add_stream("pcm_s16le", rate=8000)
        stream.layout = "mono"
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 8000), np.int16), format="s16", layout="mono")
        frame.sample_rate, frame.pts = 8000, 0
        out.mux(stream.encode(frame))
        out.mux(stream.encode())
    return path


def noise(seed: int, count: int = 24) -> list[Any]:
    """Pictures that differ from frame to frame."""
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 256, (48, 64, 3), dtype=np.uint8) for _ in range(count)]


@pytest.fixture(scope="session")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of five films of two to three seconds."""
    folder = tmp_path_factory.mktemp("films")
    for i, name in enumerate("abcde"):
        write_video(folder / f"{name}.mkv", noise(i, 20 + 2 * i))
    return folder
