"""Faces found and known again: a detector, an embedder, how a video is looked at; values that print themselves.

    detector   a picture → boxes, scores, and five points a face (eyes, nose, corners of the mouth; the left one first)
    embedder   aligned faces [k, 112, 112, 3] → vectors of length 1 [k, C], near where the person is the same

One adapter is one file in detectors/ or embedders/. It holds settings alone, so that it travels between processes;
weights are a file that the user names, or come in a wheel, and are loaded by each process when it first looks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError, import_extra
from fabula.core.spec import Spec
from fabula.documents.fields import JsonDict
from fabula.media.base import Array, Pictures, hash_file, stamp
from fabula.media.devices import Library

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

RULES = 1  # of sampling, tracking and aligning; faces found under other rules are other faces
SIDE = 112  # pixels of an aligned face
INSIGHTFACE = (
    "InsightFace's terms: for non-commercial research alone "
    "(its code is MIT, the wheel's BSD-3-Clause; the weights are neither)"
)


@dataclass(frozen=True)
class Detections:
    """Faces of one picture, the surest first."""

    box: Floats  # [k, 4] x1, y1, x2, y2 in pixels
    score: Floats  # [k]
    points: Floats  # [k, 5, 2]

    @classmethod
    def none(cls) -> Detections:
        return cls(np.zeros((0, 4), np.float32), np.zeros(0, np.float32), np.zeros((0, 5, 2), np.float32))

    def take(self, at: Ints | list[int]) -> Detections:
        return Detections(self.box[at], self.score[at], self.points[at])


@dataclass(frozen=True, kw_only=True)
class Adapter(Spec, ABC):
    """What a detector and an embedder have in common: weights, and what is said of them."""

    licence: ClassVar[str] = "the user's to know: the weights are a file of theirs"
    packages: ClassVar[tuple[str, ...]] = ()  # whose versions are written down
    library: ClassVar[Library] = "onnx"  # that runs the network
    aside: ClassVar[frozenset[str]] = frozenset({"weights", "device", "threads"})  # where and how, not what
    option: ClassVar[str] = ""  # of the command line

    weights: str | None = None  # a file of the user; None: the adapter's own, where it has some
    device: str = "cpu"
    threads: int = 1  # more are quicker, and may differ in the last digit

    def own_weights(self) -> Path | None:
        """What comes in a wheel; None where the user must name a file."""
        return None

    def weights_file(self) -> Path:
        path = self.own_weights() if self.weights is None else Path(self.weights)
        if path is None:
            raise SpecError(f"{self.name} needs a file of weights; say {self.option} {self.name}:FILE.onnx")
        if not path.is_file():
            raise InputError("no such file of weights", file=path, hint="check the path")
        return path

    def weights_digest(self) -> str | None:
        path = self.weights_file()
        return hash_file(path, *stamp(path))

    def weights_licence(self) -> str:
        """Of the weights that are used: our word for a wheel's, the user's affair where they named a file."""
        return self.licence if self.weights is None else Adapter.licence

    def recipe(self) -> JsonDict:
        settings = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in self.aside}
        return {"name": self.name, "weights": self.weights_digest(), **settings}


@dataclass(frozen=True, kw_only=True)
class Detector(Adapter):
    """Where faces are in a picture."""

    option: ClassVar[str] = "--detector"

    score: float = 0.5  # surer faces alone
    overlap: float = 0.4  # IoU from which on two boxes are one face
    size: int = 640  # pixels of the longer side that is looked at

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("score", "overlap"):
            if not 0 <= getattr(self, name) <= 1:
                raise SpecError(f"{self.name}: {name}={getattr(self, name):g}; it lies between 0 and 1")
        if not 32 <= self.size <= 4096:
            raise SpecError(f"{self.name}: size={self.size}; it lies between 32 and 4096")

    @abstractmethod
    def detect(self, picture: Pictures) -> Detections:
        """Faces of a picture [H, W, 3] (red, green, blue), the surest first."""


@dataclass(frozen=True, kw_only=True)
class Embedder(Adapter):
    """Who a face is like."""

    option: ClassVar[str] = "--embedder"
    eps: ClassVar[float] = 0.6  # cosine distance below which its faces are one person's, where a video says nothing
    dim: ClassVar[int] = 512

    @abstractmethod
    def embed(self, faces: Pictures) -> Floats:
        """[k, 112, 112, 3] → [k, C], each of length 1."""


@dataclass(frozen=True, kw_only=True)
class Look(Spec):
    """How a video is looked at: which pictures, and when two faces in a shot are one track."""

    name: ClassVar[str] = "look"

    fps: float = 5.0  # pictures looked at per second (MICap: every fifth of 25)
    shots: Literal["content", "transnetv2"] = "content"
    shortest: float = 0.5  # seconds of a shot
    side: int = 20  # pixels of a face's shorter side; smaller faces are skipped and counted
    gap: float = 1.0  # seconds for which a track waits for its face
    overlap: float = 0.3  # IoU of a face with the last one of its track …
    alike: float = 0.3  # … and the cosine of both; …
    surely: float = 0.6  # … or this cosine, wherever the face is in the picture

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.fps <= 1000:
            raise SpecError(f"{self.name}: fps={self.fps:g}; frames per second lie between 0 and 1000")
        if self.gap < 0 or self.side < 1 or self.shortest < 0:
            raise SpecError(f"{self.name}: gap and shortest are no less than 0, side no less than 1")
        if not 0 <= self.overlap <= 1 or not -1 <= self.alike <= self.surely <= 1:
            raise SpecError(f"{self.name}: overlap lies between 0 and 1, alike no higher than surely, both up to 1")


@dataclass(frozen=True)
class FaceModel:
    """All that makes faces what they are."""

    detector: Detector
    embedder: Embedder
    look: Look

    def __str__(self) -> str:
        return f"{self.detector}+{self.embedder}+{self.look}"

    @cached_property
    def packages(self) -> tuple[str, ...]:
        found = ("opencv-python-headless", *self.detector.packages, *self.embedder.packages)
        return tuple(dict.fromkeys(found))

    def recipe(self) -> JsonDict:
        """Two stores with equal recipes can stand for each other."""
        return {
            "extractor": "people",
            "rules": RULES,
            "dim": self.embedder.dim,
            "detector": self.detector.recipe(),
            "embedder": self.embedder.recipe(),
            "look": {f.name: getattr(self.look, f.name) for f in fields(self.look)},
        }

    def licence(self) -> dict[str, str]:
        """Of both networks' weights."""
        return {one.name: one.weights_licence() for one in (self.detector, self.embedder)}


def import_cv2() -> ModuleType:
    return import_extra("cv2", "finding people", "features")


@contextmanager
def quiet_opencv() -> Iterator[ModuleType]:
    """OpenCV without its warnings, which a user can do nothing about."""
    cv2 = import_cv2()
    log = cv2.utils.logging
    before = log.setLogLevel(log.LOG_LEVEL_ERROR)
    try:
        yield cv2
    finally:
        log.setLogLevel(before)


def find_in_wheel(package: str, *parts: str) -> Path | None:
    """A file of an installed package, which is not imported; None where it is not installed."""
    from importlib.util import find_spec

    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        return None
    path = Path(found.submodule_search_locations[0]).joinpath(*parts)
    return path if path.is_file() else None


def unit(x: Array) -> Floats:
    """Rows of length 1; a row of zeros stays. What is so already is not copied."""
    x = np.asarray(x, np.float32)
    length = np.sqrt(np.einsum("...c,...c->...", x, x))[..., None]
    units: Floats = x if (np.abs(length - 1) < 1e-6).all() else x / np.maximum(length, 1e-12)
    return units
