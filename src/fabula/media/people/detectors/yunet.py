"""YuNet (Wu et al., MIR 2023): faces with five points by OpenCV's detector; weights of its zoo, a file of the user.

--detector yunet:face_detection_yunet_2023mar.onnx        weights MIT (OpenCV's zoo)
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fabula.core.errors import InputError, SpecError
from fabula.media.base import Pictures
from fabula.media.people import base
from fabula.media.people.base import Detections, import_cv2, quiet_opencv

MOST = 5000  # faces before suppression


@dataclass(frozen=True, kw_only=True)
class Detector(base.Detector):
    name = "yunet"
    library = "none"

    score: float = 0.7
    overlap: float = 0.3

    def detect(self, picture: Pictures) -> Detections:
        cv2 = import_cv2()
        if self.device != "cpu":
            raise SpecError(f"yunet: device={self.device}; OpenCV's detector runs on the cpu here")
        H, W = picture.shape[:2]
        scale = min(1.0, self.size / max(H, W))
        w, h = max(1, round(W * scale)), max(1, round(H * scale))
        bgr = cv2.cvtColor(cv2.resize(picture, (w, h), interpolation=cv2.INTER_AREA), cv2.COLOR_RGB2BGR)
        path = self.weights_file()
        net = open_net(path, self.score, self.overlap)
        net.setInputSize((w, h))
        try:
            _, rows = net.detect(bgr)
        except cv2.error as error:
            raise InputError(f"not a YuNet that can be run ({' '.join(str(error).split())[:120]})", file=path,
                             hint="name OpenCV's face_detection_yunet_*.onnx") from None  # fmt: skip
        if rows is None:
            return Detections.none()
        rows = np.asarray(rows, np.float32)
        rows = rows[np.argsort(-rows[:, 14], kind="stable")]
        places = (rows[:, :14] / scale).astype(np.float32)
        box = np.concatenate([places[:, :2], places[:, :2] + places[:, 2:4]], 1)
        return Detections(box, rows[:, 14], places[:, 4:].reshape(-1, 5, 2))


@functools.lru_cache(maxsize=2)
def open_net(path: Path, score: float, overlap: float) -> Any:
    try:
        with quiet_opencv() as cv2:
            return cv2.FaceDetectorYN.create(str(path), "", (320, 320), score, overlap, MOST)
    except import_cv2().error as error:
        raise InputError(
            f"not a network that OpenCV reads ({' '.join(str(error).split())[:120]})",
            file=path,
            hint="name OpenCV's face_detection_yunet_*.onnx",
        ) from None
