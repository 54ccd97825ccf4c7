"""RetinaFace (Deng et al., CVPR 2020): faces with five points from an ONNX file of Pytorch_Retinaface's layout.

Anchors of two sizes a place: 16, 32 at stride 8; 64, 128 at 16; 256, 512 at 32; side a, c = ((j + ½)·s, (i + ½)·s):

    centre = c + .1·a·(l₀, l₁)      sides = a·exp(.2·(l₂, l₃))      point = c + .1·a·p

Pixels are blue, green, red minus (104, 117, 123). The detectors that InsightFace's packs call RetinaFace are scrfd's.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError
from fabula.media.base import Array, Pictures
from fabula.media.extractors.onnx import open_session
from fabula.media.people import base
from fabula.media.people.base import Detections
from fabula.media.people.detectors.scrfd import ask, fit, suppress

ANCHORS = {8: (16, 32), 16: (64, 128), 32: (256, 512)}  # stride → sides
MEAN = np.array([104, 117, 123], np.float32)  # of blue, green, red


@dataclass(frozen=True, kw_only=True)
class Detector(base.Detector):
    name = "retinaface"
    packages: ClassVar[tuple[str, ...]] = ("onnxruntime",)

    def detect(self, picture: Pictures) -> Detections:
        path = self.weights_file()
        session = open_session(path, self.threads, self.device)
        full, scale = fit(picture, self.size, session.get_inputs()[0].shape)
        x = np.ascontiguousarray((full[..., ::-1] - MEAN).transpose(2, 0, 1)[None])
        found = suppress(decode(ask(session, x, path), x.shape[2:], self.score, path), self.overlap)
        return Detections(found.box / scale, found.score, found.points / scale)


def decode(outputs: list[Array], shape: tuple[int, ...], least: float, path: Path) -> Detections:
    """Outputs of the network as faces in pixels of what it saw."""
    parts = {y.shape[-1]: y.reshape(-1, y.shape[-1]).astype(np.float32) for y in outputs if y.ndim}
    anchors = list_anchors(shape[0], shape[1])  # [N, 3] c, a
    if set(parts) != {2, 4, 10} or {len(y) for y in parts.values()} != {len(anchors)}:
        raise InputError(
            f"not the outputs of RetinaFace: {', '.join(str(list(y.shape)) for y in outputs[:9])}",
            file=path,
            hint=f"expected scores [1, N, 2], boxes [1, N, 4] and points [1, N, 10], N = {len(anchors):,} here",
        )
    score = parts[2][:, 1]
    if not np.allclose(parts[2].sum(1), 1, atol=1e-3):  # exported without its last layer
        score = 1 / (1 + np.exp(parts[2][:, 0] - parts[2][:, 1]))
    at = np.flatnonzero(score >= least)
    c, a, move = anchors[at, :2], anchors[at, 2:], parts[4][at]
    centre, half = c + 0.1 * a * move[:, :2], a * np.exp(0.2 * move[:, 2:]) / 2
    points = c[:, None] + 0.1 * a[:, None] * parts[10][at].reshape(-1, 5, 2)
    box = np.concatenate([centre - half, centre + half], 1)
    return Detections(*(array.astype(np.float32) for array in (box, score[at], points)))


def list_anchors(height: int, width: int) -> NDArray[np.float32]:
    """By stride, row, column, side."""
    anchors = []
    for s, sides in ANCHORS.items():
        i, j, a = np.meshgrid(np.arange(-(-height // s)), np.arange(-(-width // s)), sides, indexing="ij")
        anchors.append(np.stack([(j + 0.5) * s, (i + 0.5) * s, a], -1).reshape(-1, 3))
    return np.concatenate(anchors).astype(np.float32)
