"""A face brought upright to 112 × 112 pixels, by the similarity that brings its points to ArcFace's (Umeyama, 1991).

min Σ‖s·R·p + t − q‖²   over rotations R, scales s, shifts t; in the plane, with centred p and q as complex numbers:
s·R = Σ p̄·q / Σ |p|²
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fabula.media.base import Pictures
from fabula.media.people.base import SIDE, Floats, import_cv2

# Where ArcFace's networks expect eyes, nose and the corners of the mouth (x, y), InsightFace's numbers.
PLACES = np.array(
    [[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041]]
)  # fmt: skip


def similarity(points: NDArray[np.floating], places: NDArray[np.floating] = PLACES) -> NDArray[np.float64]:
    """The matrix [2, 3] that brings points [5, 2] to their places; the same points all give no turn and no size."""
    p, q = (x[:, 0] + 1j * x[:, 1] for x in (np.asarray(points, np.float64), places))
    centred = p - p.mean()
    size = float((centred.conj() * centred).real.sum())
    a = (centred.conj() * (q - q.mean())).sum() / size if size > 1e-9 else 1.0
    t = q.mean() - a * p.mean()
    a = complex(a)
    return np.array([[a.real, -a.imag, t.real], [a.imag, a.real, t.imag]])


def align(picture: Pictures, points: Floats) -> Pictures:
    """[k, 112, 112, 3]; what lies outside the picture is black."""
    cv2 = import_cv2()
    faces = [cv2.warpAffine(picture, similarity(p), (SIDE, SIDE), flags=cv2.INTER_LINEAR) for p in points]
    return np.stack(faces) if faces else np.zeros((0, SIDE, SIDE, 3), np.uint8)
