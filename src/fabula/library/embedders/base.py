"""An embedder: pictures and words into one space, where what belongs together lies near; what made it, and how weak.

    cos(frames(pictures), texts(words)) ranks pictures by how well the words fit them; all vectors have length 1
    (or 0: nothing was seen or said that the embedder knows)

One adapter is one file here with a class `Embedder`; another package offers its own by an entry point in the group
`fabula.embedders`. An embedder is a value that prints itself, `openclip(size=336,resize=336):clip.safetensors`; it
holds settings alone, so that it travels between processes, and its weights are loaded by each when it first embeds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError
from fabula.core.spec import Spec
from fabula.documents.fields import JsonDict
from fabula.library.pictures import cut_square, read_image
from fabula.media.base import LARGEST, Array, Pictures, hash_file, stamp
from fabula.media.base import RULES as DECODING
from fabula.media.devices import Library

Vectors = NDArray[np.float32]  # [N, D]
RULES = 1  # of what is done here with pictures and clips; vectors made under other rules are other vectors


@dataclass(frozen=True, kw_only=True)
class Embedder(Spec, ABC):
    """Base of adapters: what they are given, and what they say of themselves."""

    about: ClassVar[str] = ""  # one line for lists
    licence: ClassVar[str] = "not known"  # of the weights
    weak: ClassVar[str | None] = None  # what it cannot do, said wherever it is used
    text_tower: ClassVar[str] = ""  # what reads the words
    library: ClassVar[Library] = "torch"  # that runs the network of pictures
    text_library: ClassVar[Library | None] = None  # that reads the words; None: the same
    needs_weights: ClassVar[bool] = False  # a file or folder that the user names
    aside: ClassVar[frozenset[str]] = frozenset({"weights", "device", "batch", "threads"})  # where and how, not what

    resize: int = 256  # pixels of the shorter side …
    size: int = 224  # … of which the middle square is seen
    weights: str | None = None
    device: str = "cpu"
    batch: int = 16  # pictures at a time
    threads: int = 1  # of a process

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.size <= self.resize <= LARGEST:
            problem = f"size={self.size} and resize={self.resize}"
            raise SpecError(f"{self.name}: {problem}; the square fits into the resized picture, of at most {LARGEST}")
        for name in ("batch", "threads"):
            if not 1 <= getattr(self, name) <= LARGEST:
                raise SpecError(f"{self.name}: {name}={getattr(self, name)}; it lies between 1 and {LARGEST}")

    # what an adapter says

    @property
    @abstractmethod
    def dims(self) -> int:
        """D, the numbers of one vector."""

    @abstractmethod
    def embed(self, squares: NDArray[np.uint8]) -> Vectors:
        """[N, size, size, 3] → [N, D], of any length."""

    @abstractmethod
    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """[N, D], of any length."""

    def files(self) -> Sequence[Path]:
        """All that the vectors depend on; those of the weights that the user named, unless an adapter knows better."""
        if self.weights is None:
            if self.needs_weights:
                raise SpecError(f"{self.name} needs weights; say --with {self.name}:PATH")
            return ()
        path = Path(self.weights)
        if not path.is_file():
            raise InputError("no such file of weights", file=path, hint="check the path")
        return (path,)

    def prepare(self) -> None:
        """What all processes need and one can compute for them, before they begin."""

    # what follows from it

    def frames(self, pictures: Sequence[Pictures]) -> Vectors:
        """Pictures [H, W, 3] of any size → [N, D], each of length 1."""
        parts = [np.zeros((0, self.dims), np.float32)]
        for i in range(0, len(pictures), self.batch):
            squares = [cut_square(picture, self.resize, self.size) for picture in pictures[i : i + self.batch]]
            parts.append(self.embed(np.stack(squares)))
        return unit(np.concatenate(parts))

    def texts(self, texts: Sequence[str]) -> Vectors:
        """Sentences → [N, D], each of length 1."""
        return unit(self.embed_texts(texts)) if len(texts) else np.zeros((0, self.dims), np.float32)

    def image(self, data: bytes) -> NDArray[np.float32]:
        """An image file's bytes → [D]."""
        vector: NDArray[np.float32] = self.frames([read_image(data)])[0]
        return vector

    def digests(self) -> dict[str, str]:
        """SHA-256 of every file by its name."""
        return {path.name: hash_file(path, *stamp(path)) for path in self.files()}

    def recipe(self) -> JsonDict:
        """What makes its vectors what they are. Stores with equal recipes can stand for each other."""
        settings = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in self.aside}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}
        fixed = {"embedder": self.name, "dims": self.dims, "weights": self.digests(), "text": self.text_tower}
        return {**fixed, "rules": [RULES, DECODING], **plain}


TOLD = ("embedder", "dims", "weights", "text", "rules")  # of a recipe, what is no setting


def unit(x: Array) -> Vectors:
    """Each row of length 1; a row of zeros stays."""
    x = np.asarray(x, np.float32)
    long = np.sqrt((x.astype(np.float64) ** 2).sum(-1, keepdims=True))
    vectors: Vectors = (x / np.where(long > 1e-12, long, 1.0)).astype(np.float32)
    return vectors
