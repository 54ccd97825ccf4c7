"""Painted marks in place of faces: patches of strong colour, for tests and trials without weights; it knows no face."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fabula.media.base import Pictures
from fabula.media.people import base
from fabula.media.people.base import Detections, import_cv2

STRONG = 90  # difference of the channels of a coloured pixel
FULL = 0.8  # of its box, that a mark fills
POINTS = np.array([[0.3, 0.35], [0.7, 0.35], [0.5, 0.55], [0.35, 0.75], [0.65, 0.75]], np.float32)  # of the box


@dataclass(frozen=True, kw_only=True)
class Detector(base.Detector):
    name = "marks"
    library = "none"
    licence: ClassVar[str] = "none: there are no weights"

    def weights_digest(self) -> str | None:
        return None

    def detect(self, picture: Pictures) -> Detections:
        cv2 = import_cv2()
        spread = picture.max(2).astype(np.int16) - picture.min(2)
        _, _, stats, _ = cv2.connectedComponentsWithStats((spread > STRONG).astype(np.uint8), connectivity=4)
        x, y, w, h, area = stats[1:].T.astype(np.float32)
        score = area / np.maximum(w * h, 1)
        at = np.flatnonzero((score >= max(FULL, self.score)) & (np.minimum(w, h) >= 4))
        at = at[np.argsort(-score[at], kind="stable")]
        box = np.stack([x, y, x + w, y + h], 1)[at]
        sides = (box[:, 2:] - box[:, :2])[:, None]
        return Detections(box, score[at].astype(np.float32), box[:, None, :2] + POINTS * sides)
