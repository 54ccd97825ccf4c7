"""CLIP, or a relative that reads its tokens, as two ONNX networks in a folder, run by ONNX Runtime without torch.

FOLDER/visual.onnx      pictures → vectors          (or vision_model.onnx, image_encoder.onnx)
FOLDER/textual.onnx     tokens → vectors            (or text_model.onnx, text_encoder.onnx)
FOLDER/tokenizer.json   with CLIP's <|startoftext|> and <|endoftext|>

--with onnx-clip:models/vit-b-32       --with "onnx-clip(size=256,resize=256,mean=0.5,std=0.5):models/other"
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, SpecError
from fabula.documents.fields import JsonDict
from fabula.library.embedders import base
from fabula.library.embedders.base import Vectors
from fabula.media.base import Array, pool
from fabula.media.clip_text import CONTEXT, tokens
from fabula.media.extractors.onnx import Extractor, open_session, say
from fabula.media.extractors.openclip import Extractor as OpenClip

VISUAL = ("visual.onnx", "vision_model.onnx", "image_encoder.onnx")
TEXTUAL = ("textual.onnx", "text_model.onnx", "text_encoder.onnx")
OUTPUTS = ("image_embeds", "text_embeds")  # what exporters call them; else the first
KINDS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


@dataclass(frozen=True, kw_only=True)
class Embedder(base.Embedder):
    """Pictures as CLIP wants them, unless told otherwise."""

    name = "onnx-clip"
    library = "onnx"
    about = "CLIP or a relative as two ONNX networks and a tokenizer.json in a folder"
    licence = "the user's to know: the weights are files of theirs"
    text_tower = "the folder's own ONNX network"
    needs_weights: ClassVar[bool] = True

    resize: int = 224
    mean: tuple[float, ...] = OpenClip.mean
    std: tuple[float, ...] = OpenClip.std

    def files(self) -> Sequence[Path]:
        if self.weights is None:
            raise SpecError(f"{self.name} needs a folder; say --with {self.name}:FOLDER")
        folder = Path(self.weights)
        if not folder.is_dir():
            raise InputError("no such folder", file=folder, hint=f"it holds {VISUAL[0]}, {TEXTUAL[0]}, tokenizer.json")
        return tuple(find(folder, names) for names in (VISUAL, TEXTUAL, ("tokenizer.json",)))

    def eyes(self) -> Extractor:
        path = self.files()[0]
        names = [one.name for one in open_session(path, self.threads, self.device).get_outputs()]
        output = OUTPUTS[0] if OUTPUTS[0] in names else ""
        more: JsonDict = {"resize": self.resize, "size": self.size, "mean": self.mean, "std": self.std}
        return Extractor(weights=str(path), device=self.device, threads=self.threads, output=output, **more)

    @property
    def dims(self) -> int:
        return self.eyes().dim

    def embed(self, squares: NDArray[np.uint8]) -> Vectors:
        return self.eyes().embed(squares[:, None])

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        _, path, tokenizer = self.files()
        session = open_session(path, self.threads, self.device)
        ids = tokens(texts, tokenizer, context_of(session))
        inputs = {one.name: prepare(one, ids) for one in session.get_inputs()}
        names = [one.name for one in session.get_outputs()]
        try:
            vectors = session.run([OUTPUTS[1] if OUTPUTS[1] in names else names[0]], inputs)[0]
        except Exception as error:  # its own classes, one for each code
            raise InputError(f"the network refuses tokens of shape {ids.shape} ({say(error)})", file=path) from None
        return pool(vectors, self.name)


def find(folder: Path, names: Sequence[str]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"has no {names[0]}", file=folder, hint=f"one of: {', '.join(names)}")


def context_of(session: Any) -> int:
    """Tokens of a text, where the network says it."""
    shape = session.get_inputs()[0].shape
    return int(shape[1]) if len(shape) == 2 and isinstance(shape[1], int) and shape[1] > 2 else CONTEXT


def prepare(wanted: Any, ids: NDArray[np.int64]) -> Array:
    """What an input takes: the tokens, or which of them are there."""
    values = (np.arange(ids.shape[1]) <= ids.argmax(1)[:, None]) if "mask" in wanted.name else ids
    return values.astype(KINDS.get(wanted.type, np.int64))
