"""DenseCap mAP written plainly, in the manner of the published evaluators: a loop over detections, a loop over records.

What bench/regions.py measures against, and what tests compare with. `vectorised` takes the IoU of an image at once, as
the PyTorch port does; else boxes are compared one by one, as in Lua. METEOR is given, a score per record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

IOUS = (0.3, 0.4, 0.5, 0.6, 0.7)
METEORS = (-1, 0, 0.05, 0.1, 0.15, 0.2, 0.25)

Box = Sequence[float]  # x1, y1, x2, y2


def overlap(a: Box, b: Box, pixel: int) -> float:
    w = min(a[2], b[2]) - max(a[0], b[0]) + pixel
    h = min(a[3], b[3]) - max(a[1], b[1]) + pixel
    if w <= 0 or h <= 0:
        return 0.0
    areas = sum((c[2] - c[0] + pixel) * (c[3] - c[1] + pixel) for c in (a, b))
    return w * h / (areas - w * h)


def overlaps(a: Sequence[Box], b: Sequence[Box], pixel: int) -> np.ndarray:
    A, B = np.asarray(a, dtype=float)[:, None], np.asarray(b, dtype=float)[None]
    sides = np.clip(np.minimum(A[..., 2:], B[..., 2:]) - np.maximum(A[..., :2], B[..., :2]) + pixel, 0, None)
    inter = sides.prod(-1)
    union = (A[..., 2:] - A[..., :2] + pixel).prod(-1) + (B[..., 2:] - B[..., :2] + pixel).prod(-1) - inter
    return inter / np.where(union > 0, union, 1)


def merge(
    boxes: Sequence[Box], texts: Sequence[str], pixel: int, vectorised: bool
) -> tuple[list[Box], list[list[str]]]:
    if vectorised and boxes:
        D = overlaps(boxes, boxes, pixel)
    else:
        D = np.array([[overlap(a, b, pixel) for b in boxes] for a in boxes]).reshape(len(boxes), len(boxes))
    np.fill_diagonal(D, 1)
    new_boxes, new_texts = [], []
    while D.size:
        good = D >= 0.7
        top = int(good.sum(axis=0).argmax())
        group = np.flatnonzero(good[top])
        if not len(group):
            break
        new_boxes.append(np.asarray(boxes, dtype=float)[group].mean(axis=0).tolist())
        new_texts.append([texts[i] for i in group])
        D[group, :] = 0
        D[:, group] = 0
    return new_boxes, new_texts


class Plain:
    """Add images, then evaluate."""

    def __init__(self, pixel: int = 1, negative_index: bool = False, vectorised: bool = False) -> None:
        self.pixel, self.negative_index, self.vectorised = pixel, negative_index, vectorised
        self.records: list[dict[str, Any]] = []
        self.scores: list[float] = []
        self.npos = 0

    def add(self, boxes: Sequence[Box], scores: Sequence[float], texts: Sequence[str], gt: Any, gt_texts: Any) -> None:
        merged, merged_texts = merge(gt, gt_texts, self.pixel, self.vectorised)
        used = [0] * len(merged)
        matrix = overlaps(boxes, merged, self.pixel) if self.vectorised and merged else None
        for d in sorted(range(len(boxes)), key=lambda i: -scores[i]):
            best, at = 0.0, -1
            if matrix is not None:
                at = int(matrix[d].argmax())
                best = float(matrix[d, at])
                at = at if best > 0 else -1
            else:
                for j, box in enumerate(merged):
                    value = overlap(boxes[d], box, self.pixel)
                    if value > best:
                        best, at = value, j
            ok = 0
            if merged and (at >= 0 or self.negative_index) and used[at] == 0:
                used[at] = ok = 1
            references = merged_texts[at] if at >= 0 else []
            self.records.append({"ok": ok, "ov": best, "candidate": texts[d], "references": references})
            self.scores.append(scores[d])
        self.npos += len(merged)

    def evaluate(self, meteor: Callable[[list[str], list[list[str]]], Sequence[float]]) -> dict[str, float]:
        words = meteor([r["candidate"] for r in self.records], [r["references"] or [""] for r in self.records])
        order = sorted(range(len(self.scores)), key=lambda i: -self.scores[i])
        aps: dict[tuple[float, float], float] = {}
        for o in IOUS:
            for s in METEORS:
                tp, fp = np.zeros(len(order)), np.zeros(len(order))
                for i, at in enumerate(order):
                    r = self.records[at]
                    if r["references"] and r["ov"] >= o and r["ok"] == 1 and words[at] > s:
                        tp[i] = 1
                    else:
                        fp[i] = 1
                tp, fp = np.cumsum(tp), np.cumsum(fp)
                recall, precision = tp / self.npos, tp / (tp + fp)
                levels = [k / 100 for k in range(100)]
                aps[o, s] = sum(np.max(precision * (recall >= t - 1e-12), initial=0) for t in levels) / len(levels)
        described = [ap for (_, s), ap in aps.items() if s >= 0]
        detected = [ap for (_, s), ap in aps.items() if s < 0]
        return {"map": sum(described) / len(described), "detmap": sum(detected) / len(detected)}
