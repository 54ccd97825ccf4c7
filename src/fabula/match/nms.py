"""Temporal non-maximum suppression: of windows that overlap too much, the one with the best score stays.

    in order of score:  keep p;  drop every later q of the same video with IoU(p, q) > threshold (strictly)

IoU is taken over the hull, max end − min start: the same number wherever two windows overlap.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fabula.core.errors import SpecError
from fabula.pair.tiou import hull_iou

Places = NDArray[np.int64]


def nms(
    spans: ArrayLike, scores: ArrayLike, threshold: float, videos: ArrayLike | None = None, top: int | None = 100
) -> Places:
    """Which of the windows [N, 2] stay, best first, at most `top`. With `videos`, each video on its own.

    On equal scores the video that was named first goes first, then the window that was listed first: the order in
    which TVR's code, which suppresses video by video and sorts what is left, leaves them.
    """
    if not (math.isfinite(threshold) and 0 <= threshold <= 1):
        raise SpecError(f"the NMS threshold is {threshold}; it must lie between 0 and 1")
    p = np.asarray(spans, dtype=np.float64).reshape(-1, 2)
    s = np.asarray(scores, dtype=np.float64)
    if s.shape != (len(p),):
        raise SpecError(f"{len(p)} windows and {s.size} scores; give one score per window")
    group = np.zeros(len(p), dtype=np.int64)
    if videos is not None:
        _, first, group = np.unique(np.asarray(videos), return_index=True, return_inverse=True)
        group = np.argsort(np.argsort(first))[group.reshape(-1)]  # numbered in order of appearance
    order = np.lexsort((np.arange(len(p)), group, -s))
    p, group = p[order], group[order]
    alive = np.ones(len(p), dtype=bool)
    places: list[int] = []
    i = 0
    while i < len(p) and (top is None or len(places) < top):
        if alive[i]:
            places.append(i)
            rest = slice(i + 1, None)
            alive[rest] &= ~((hull_iou(p[i], p[rest]) > threshold) & (group[rest] == group[i]))
        i += 1
    return order[places].astype(np.int64)


def shifted_nms(
    spans: ArrayLike, scores: ArrayLike, threshold: float, videos: ArrayLike, top: int | None = 100
) -> Places:
    """The slip that HERO and TVRetrieval mended and ReLoCLNet has: rows are read one column off.

    [video, start, end, score] is taken for [start, end, score]: windows [video number, start] are compared, and the
    end time sorts. `scores` are not looked at.
    """
    p = np.asarray(spans, dtype=np.float64).reshape(-1, 2)
    return nms(np.column_stack([np.asarray(videos, dtype=np.float64), p[:, 0]]), p[:, 1], threshold, None, top)
