"""An extractor: pictures in, one vector a clip out, with all that must be known to make its features again.

    feature k  stands for the frames [k·stride, (k+1)·stride), seen in the middle of a clip of `clip` frames
    frame i    is the picture on the screen at (i + ½)/fps seconds; at the ends of a video its outermost frames repeat

One adapter is one file in extractors/ with a class `Extractor`; another package offers its own by an entry point in the
group `fabula.extractors`. An extractor is a value that prints itself: `efficientnet_lite0(fps=2)`. It holds settings
alone, so that it travels between processes; weights are loaded by each process when it first embeds.
"""

from __future__ import annotations

import functools
import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError
from fabula.core.spec import Spec
from fabula.documents.fields import JsonDict
from fabula.media.devices import Library

Array = NDArray[Any]  # of any numbers
Pictures = NDArray[np.uint8]  # [H, W, 3] red, green, blue
Clips = NDArray[np.uint8]  # [N, clip, H, W, 3]
Vectors = NDArray[np.float32]  # [N, C]

RULES = 1  # of decoding and sampling (decode.py, cut_clips); features made under other rules are other features
CHUNK = 1 << 20
LARGEST = 4096  # pixels of a side
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of red, green, blue from 0 to 1


@dataclass(frozen=True, kw_only=True)
class Extractor(Spec, ABC):
    """Base of adapters: what they are given, and what they say of themselves."""

    licence: ClassVar[str] = "not known"  # of the weights
    library: ClassVar[Library] = "torch"  # that runs the network
    packages: ClassVar[tuple[str, ...]] = ()  # whose versions are written down, beside ours and PyAV's
    aside: ClassVar[frozenset[str]] = frozenset(
        {"weights", "device", "batch", "threads"}
    )  # where and how, not what: no recipe
    needs_weights: ClassVar[bool] = False  # a file that the user names

    fps: float = 1.0  # frames looked at per second
    clip: int = 1  # frames of one feature
    stride: int = 1  # frames from one feature to the next
    resize: int = 256  # pixels of the shorter side …
    size: int = 224  # … of which the middle square is seen
    mean: tuple[float, ...] = IMAGENET_MEAN  # of red, green and blue from 0 to 1: x ↦ (x − mean) / std
    std: tuple[float, ...] = IMAGENET_STD
    dtype: Literal["float32", "float16"] = "float32"  # as they are stored; half floats keep three digits
    weights: str | None = None  # file of the weights, where the adapter does not bring its own
    device: str = "cpu"
    batch: int = 16  # clips at a time
    threads: int = 1  # of a process; more are quicker, and may differ in the last bit

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("mean", "std"):  # one number stands for all three
            value = getattr(self, name)
            object.__setattr__(self, name, value * 3 if len(value) == 1 else value)
        if not 0 < self.fps <= 1000:
            raise SpecError(f"{self.name}: fps={self.fps:g}; frames per second lie between 0 and 1000")
        for name in ("clip", "stride", "batch", "threads"):
            if not 1 <= getattr(self, name) <= LARGEST:
                raise SpecError(f"{self.name}: {name}={getattr(self, name)}; it lies between 1 and {LARGEST}")
        if not 1 <= self.size <= self.resize <= LARGEST:
            problem = f"size={self.size} and resize={self.resize}"
            raise SpecError(f"{self.name}: {problem}; the square fits into the resized picture, of at most {LARGEST}")
        if len(self.mean) != 3 or len(self.std) != 3 or min(self.std) <= 0:
            raise SpecError(f"{self.name}: mean and std are one number or three (red/green/blue), std above 0")

    # what an adapter says

    @property
    @abstractmethod
    def dim(self) -> int:
        """C, the numbers of one feature."""

    @abstractmethod
    def embed(self, clips: Clips) -> Vectors:
        """[N, clip, size, size, 3] as they are on the screen → [N, C]."""

    def weights_file(self) -> Path | None:
        """Where the weights lie; None where there are none."""
        if self.weights is None:
            if self.needs_weights:
                raise SpecError(f"{self.name} needs a file of weights; say --with {self.name}:PATH")
            return None
        path = Path(self.weights)
        if not path.is_file():
            raise InputError("no such file of weights", file=path, hint="check the path")
        return path

    # what follows from it

    @property
    def rate(self) -> float:
        """Features per second."""
        return self.fps / self.stride

    def weights_digest(self) -> str | None:
        """SHA-256 of the weights' file."""
        path = self.weights_file()
        return None if path is None else hash_file(path, *stamp(path))

    def recipe(self) -> JsonDict:
        """What makes its features what they are. Two stores with equal recipes can stand for each other."""
        settings = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in self.aside}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}
        return {"extractor": self.name, "dim": self.dim, "weights": self.weights_digest(), "rules": RULES, **plain}

    def normalise(self, clips: Clips) -> NDArray[np.float32]:
        """(x/255 − mean)/std"""
        scale = (1 / (255 * np.asarray(self.std))).astype(np.float32)
        shift = (np.asarray(self.mean) / np.asarray(self.std)).astype(np.float32)
        normalised: NDArray[np.float32] = clips.astype(np.float32) * scale - shift
        return normalised


Layout = Literal["auto", "NCHW", "NHWC", "NCTHW", "NTCHW", "NTHWC"]


@dataclass(frozen=True, kw_only=True)
class NetworkExtractor(Extractor):
    """A network of the user's: its file is the weights, and tells how many numbers it gives."""

    licence: ClassVar[str] = "the user's to know: the weights are a file of theirs"
    needs_weights: ClassVar[bool] = True

    layout: Layout = "auto"

    @property
    def dim(self) -> int:
        return measure(self, self.weights_digest())

    def network_file(self) -> Path:
        path = self.weights_file()
        assert path is not None  # needs_weights
        return path


@functools.lru_cache(maxsize=8)
def measure(extractor: Extractor, digest: str | None) -> int:
    """How many numbers it gives, by trying; the digest is that of its file."""
    size = extractor.size
    return int(extractor.embed(np.zeros((1, extractor.clip, size, size, 3), np.uint8)).shape[1])


def arrange(x: NDArray[np.float32], layout: str) -> NDArray[np.float32]:
    """[N, T, H, W, C] in the order that a network wants; where it knows no time, the frame in the middle."""
    if "T" not in layout:
        x, axes = x[:, x.shape[1] // 2], "NHWC"
    else:
        axes = "NTHWC"
    arranged: NDArray[np.float32] = np.ascontiguousarray(x.transpose([axes.index(axis) for axis in layout]))
    return arranged


def pool(y: Array, name: str) -> Vectors:
    """One vector a clip: [N, C] as it is, the mean over what else there is of [N, C, …]."""
    if y.ndim < 2 or y.dtype.kind != "f":
        raise SpecError(f"{name}: the network gives {y.dtype} of shape {y.shape}; expected numbers [N, C] or [N, C, …]")
    vectors: Vectors = y.reshape(*y.shape[:2], -1).mean(2, dtype=np.float32) if y.ndim > 2 else y.astype(np.float32)
    return vectors


def stamp(path: Path) -> tuple[int, int]:
    about = path.stat()
    return about.st_size, about.st_mtime_ns


@functools.lru_cache(maxsize=64)
def hash_file(path: Path, size: int, time: int) -> str:
    """SHA-256; once for a file that stays as it is."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as raw:
            while piece := raw.read(CHUNK):
                digest.update(piece)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path, hint="check its permissions") from None
    return digest.hexdigest()


def cut_clips(frames: Iterable[Pictures], clip: int, stride: int) -> Iterator[Clips]:
    """Clips [clip, H, W, 3] around every `stride` frames; beyond the ends the outermost frames repeat.

    n frames give max(1, ⌈n/stride − ½⌉) clips: what is left over counts when it is more than half a stride.
    """
    before = (clip - stride) // 2  # frames of a clip before those it stands for; below 0 where it sees fewer of them
    buffer: list[Pictures] = []
    begin = 0  # the index of held[0]
    k = n = 0

    def cut(k: int) -> Clips:
        at = [min(max(k * stride - before + j, 0), n - 1) - begin for j in range(clip)]
        return np.stack([buffer[max(i, 0)] for i in at])

    for frame in frames:
        buffer.append(frame)
        n += 1
        while k * stride - before + clip <= n and (k + 1) * stride <= n:
            yield cut(k)
            k += 1
            gone = min(max(0, k * stride - before) - begin, len(buffer) - 1)
            if gone > 0:
                buffer, begin = buffer[gone:], begin + gone
    while n and (k < 1 or k < math.ceil(n / stride - 0.5)):
        yield cut(k)
        k += 1
