"""SFace (Zhong et al., TIP 2021): 128 numbers a face by OpenCV's recogniser; weights of its zoo, a file of the user.

    --embedder sface:face_recognition_sface_2021dec.onnx      weights Apache-2.0 (OpenCV's zoo)

OpenCV calls two faces one person's from a cosine of .363 on: a distance of .637.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from fabula.core.errors import InputError, SpecError
from fabula.media.base import Pictures
from fabula.media.people import base
from fabula.media.people.base import Floats, import_cv2, quiet_opencv, unit


@dataclass(frozen=True, kw_only=True)
class Embedder(base.Embedder):
    name = "sface"
    library = "none"
    eps: ClassVar[float] = 0.637
    dim: ClassVar[int] = 128

    def embed(self, faces: Pictures) -> Floats:
        cv2 = import_cv2()
        if self.device != "cpu":
            raise SpecError(f"sface: device={self.device}; OpenCV's recogniser runs on the cpu here")
        path = self.weights_file()
        net = open_net(path)
        try:
            vectors = [net.feature(cv2.cvtColor(face, cv2.COLOR_RGB2BGR)).reshape(-1).copy() for face in faces]
        except cv2.error as error:
            raise InputError(
                f"not a SFace that can be run ({' '.join(str(error).split())[:120]})",
                file=path,
                hint="name OpenCV's face_recognition_sface_*.onnx",
            ) from None
        y = np.stack(vectors) if vectors else np.zeros((0, self.dim), np.float32)
        if y.shape[1] != self.dim:
            raise InputError(
                f"the network gives {y.shape[1]} numbers a face; SFace gives {self.dim}",
                file=path,
                hint="name OpenCV's face_recognition_sface_*.onnx",
            )
        return unit(y)


@functools.lru_cache(maxsize=2)
def open_net(path: Path) -> Any:
    try:
        with quiet_opencv() as cv2:
            return cv2.FaceRecognizerSF.create(str(path), "")
    except import_cv2().error as error:
        raise InputError(
            f"not a network that OpenCV reads ({' '.join(str(error).split())[:120]})",
            file=path,
            hint="name OpenCV's face_recognition_sface_*.onnx",
        ) from None
