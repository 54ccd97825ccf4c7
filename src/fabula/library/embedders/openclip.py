"""CLIP (Radford et al., ICML 2021) from a checkpoint of OpenCLIP: one encoder for clips, one for words.

    --with openclip:models/vit-b-32/open_clip_model.safetensors            a model trained by OpenCLIP
    --with "openclip(act=quickgelu):vit_b_32.bin"                          OpenAI's weights in OpenCLIP's names

The model's tokenizer.json lies beside the weights. Sizes are read off them; open_clip and torchvision are not needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError
from fabula.library.embedders import base
from fabula.library.embedders.base import Vectors
from fabula.media.clip_text import embed_texts
from fabula.media.extractors.openclip import Extractor

TOKENIZER = "tokenizer.json"


@dataclass(frozen=True, kw_only=True)
class Embedder(base.Embedder):
    """The shorter side is the square's side; size and resize are those of the weights (224, 336 …)."""

    name = "openclip"
    about = "CLIP's two encoders from a checkpoint of OpenCLIP with its tokenizer.json"
    licence = Extractor.licence
    text_tower = "CLIP's own, from the same checkpoint"
    needs_weights: ClassVar[bool] = True

    resize: int = 224
    size: int = 224
    act: Literal["gelu", "quickgelu"] = "gelu"

    def eyes(self) -> Extractor:
        more = {"resize": self.resize, "size": self.size, "device": self.device, "threads": self.threads}
        return Extractor(weights=self.weights, act=self.act, **more)  # type: ignore[arg-type]

    @property
    def dims(self) -> int:
        self.files()
        return self.eyes().dim

    def files(self) -> Sequence[Path]:
        (path,) = super().files()
        if not (beside := path.with_name(TOKENIZER)).is_file():
            raise InputError("no such file", file=beside, hint="the model's tokenizer.json lies beside its weights")
        return path, beside

    def embed(self, squares: NDArray[np.uint8]) -> Vectors:
        return self.eyes().embed(squares[:, None])

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        vectors = embed_texts(texts, self.files()[0], self.act, self.device, self.threads)
        if vectors.shape[1] != self.dims:
            raise InputError(
                f"pictures have {self.dims} numbers and words {vectors.shape[1]}",
                file=self.weights,
                hint="weights of one model have both alike",
            )
        return vectors
