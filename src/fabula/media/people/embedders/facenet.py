"""FaceNet (Schroff et al., CVPR 2015): 512 numbers a face of 160 × 160, from an ONNX file of the user's.

    --embedder facenet:inception_resnet_v1.onnx

x = (pixels − 127.5)/128, red first, as github.com/timesler/facenet-pytorch has it; the output is brought to length 1.
The aligned face of 112 × 112 is enlarged, where that program cuts 160 × 160 around the box of the face. From a cosine
distance of .4 on, faces are two people's: deepface's threshold for it.
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

SIDE = 160


@dataclass(frozen=True, kw_only=True)
class Embedder(arcface.Embedder):
    name = "facenet"
    licence: ClassVar[str] = base.Adapter.licence
    eps: ClassVar[float] = 0.4
    expects: ClassVar[str] = "a network of FaceNet's kind: [k, 3, 160, 160] → [k, 512]"

    std: float = 128.0

    def own_weights(self) -> Path | None:
        return None

    def embed(self, faces: Pictures) -> Floats:
        cv2 = import_cv2()
        large = [cv2.resize(face, (SIDE, SIDE), interpolation=cv2.INTER_LINEAR) for face in faces]
        return super().embed(np.stack(large) if large else np.zeros((0, SIDE, SIDE, 3), np.uint8))
