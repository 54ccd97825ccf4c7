"""FaceNet (Schroff et al., CVPR 2015; Inception-ResNet v1 as davidsandberg/facenet trained it): 512 numbers a face.

    --embedder facenet:facenet.onnx      an ONNX file of yours: [k, 3, 160, 160] → [k, 512], red first

x = (pixels − 127.5)/128; the output is brought to length 1. The face is the one that is brought upright for ArcFace,
enlarged to 160 × 160: the original cuts MTCNN's box with a margin, and turns nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from fabula.media.base import Pictures
from fabula.media.people import base
from fabula.media.people.base import Floats, import_cv2
from fabula.media.people.embedders import arcface


@dataclass(frozen=True, kw_only=True)
class Embedder(arcface.Embedder):
    name = "facenet"
    licence: ClassVar[str] = base.Embedder.licence
    eps: ClassVar[float] = 0.6  # no published weights were at hand to find a better one

    std: float = 128.0
    side: int = 160  # pixels that the network takes

    def own_weights(self) -> Path | None:
        return None

    def embed(self, faces: Pictures) -> Floats:
        cv2 = import_cv2()
        size = (self.side, self.side)
        larger = [cv2.resize(face, size, interpolation=cv2.INTER_LINEAR) for face in np.ascontiguousarray(faces)]
        return super().embed(np.stack(larger) if larger else np.zeros((0, *size, 3), np.uint8))
