"""Films with words painted on them (SIMULATED), so that what stands there at every moment is known."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.media.conftest import write_video

NEEDED = ("av", "cv2", "onnxruntime")
if any(importlib.util.find_spec(name) is None for name in NEEDED):
    collect_ignore_glob = ["test_*.py"]  # needs fabula[ocr]

FONTS = {
    "sans": "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
    "bold": "/usr/share/fonts/truetype/liberation/LiberationSans-Bold.ttf",
    "narrow": "/usr/share/fonts/truetype/liberation/LiberationSansNarrow-Bold.ttf",
    "serif": "/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf",
    "mono": "/usr/share/fonts/truetype/liberation/LiberationMono-Regular.ttf",
    "italic": "/usr/share/fonts/truetype/liberation/LiberationSans-Italic.ttf",
    "cjk": "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc",
}
FPS = 20


@pytest.fixture
def weights() -> None:
    """Skips where the wheel with the weights is not installed."""
    for name in ("rapidocr", "PIL"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed: pip install 'fabula[ocr]'")


@dataclass(frozen=True)
class Painted:
    """A text from start to end (seconds), its left upper corner at (x, y), as shares of the picture."""

    text: str
    start: float = 0.0
    end: float = 99.0
    x: float = 0.3
    y: float = 0.4
    height: int = 28
    font: str = "bold"
    colour: tuple[int, int, int] = (255, 255, 255)
    strength: float = 1.0  # of the paint, over the picture
    speed: tuple[float, float] = (0.0, 0.0)  # shares of the picture a second
    fade: float = 0.0  # seconds to come and to go
    turned: int = 0  # degrees


def load_font(name: str, height: int) -> Any:
    from PIL import ImageFont

    if Path(FONTS[name]).is_file():
        return ImageFont.truetype(FONTS[name], height)
    if name == "cjk":
        pytest.skip("no font with Chinese letters")
    return ImageFont.load_default(height)


def paint(ground: Any, t: float, texts: list[Painted]) -> Any:
    from PIL import Image, ImageDraw

    picture = ground.astype(np.float32)
    H, W = ground.shape[:2]
    for one in texts:
        if not one.start <= t < one.end:
            continue
        strength = one.strength
        if one.fade:
            strength *= min(1.0, (t - one.start) / one.fade, (one.end - t) / one.fade)
        layer = Image.new("L", (W, H))
        spent = t - one.start
        place = ((one.x + one.speed[0] * spent) * W, (one.y + one.speed[1] * spent) * H)
        ImageDraw.Draw(layer).text(place, one.text, fill=255, font=load_font(one.font, one.height))
        if one.turned:
            layer = layer.rotate(one.turned, center=place)
        cover = np.asarray(layer, np.float32)[..., None] / 255 * strength
        picture = picture * (1 - cover) + np.array(one.colour, np.float32) * cover
    return np.clip(np.rint(picture), 0, 255).astype(np.uint8)


def ground(size: tuple[int, int], i: int, seed: int, moving: bool = True) -> Any:
    """Slopes of light, blobs that wander, and a little noise: something to detect, but no letters."""
    H, W = size
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:H, 0:W].astype(np.float32)
    base = rng.uniform(40, 110, 3) + np.outer(x.ravel() / W, rng.uniform(-30, 40, 3)).reshape(H, W, 3)
    for _ in range(5):
        cx, cy, r = rng.uniform(0, W), rng.uniform(0, H), rng.uniform(0.05, 0.2) * H
        vx, vy = rng.uniform(-3, 3, 2) if moving else (0.0, 0.0)
        inside = ((x - cx - vx * i) ** 2 + (y - cy - vy * i) ** 2)[..., None] < r * r
        base = np.where(inside, rng.uniform(20, 140, 3), base)
    noise = np.random.default_rng(1000 * seed + i).normal(0, 2, (H, W, 1))
    return np.clip(base + noise, 0, 255)


def paint_film(
    path: Path, texts: list[Painted], seconds: float = 3.0, size: tuple[int, int] = (360, 640), seed: int = 1,
    *, fps: int = FPS, moving: bool = True, codec: str = "mpeg4",
) -> Path:  # fmt: skip
    count = round(seconds * fps)
    pictures = [paint(ground(size, i, seed, moving), i / fps, texts) for i in range(count)]
    if codec == "ffv1":
        return write_video(path, pictures, fps=fps)
    import av

    with av.open(str(path), "w") as out:
        stream = out.add_stream(codec, rate=fps)
        stream.height, stream.width, stream.pix_fmt, stream.bit_rate = *size, "yuv420p", 4_000_000
        for picture in pictures:
            out.mux(stream.encode(av.VideoFrame.from_ndarray(picture, "rgb24")))
        out.mux(stream.encode())
    return path
