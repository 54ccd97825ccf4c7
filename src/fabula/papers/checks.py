"""Definitions as they are printed, written down a second time to compare with: slow, and for that alone.

SODA's supplement, Algorithm 1 (Fujita et al., ECCV 2020), against fabula.match.ordered; the readme of DenseCap's
evaluation (Johnson et al., CVPR 2016), against the score of the task regions.
"""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import numpy as np

from fabula.documents.fields import JsonDict
from fabula.documents.files import read_objects
from fabula.match import ordered
from fabula.text import meteor

LARGEST = 12  # rows and columns of a random matrix
IOUS = (0.3, 0.4, 0.5, 0.6, 0.7)
METEORS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25)
MERGED = 0.7
LEVELS = 100
LEFT, DIAGONAL, UPPER = 1, 2, 3
Box = tuple[float, float, float, float]  # left, top, width, height


def compare_algorithm(seed: int, matrices: int, levels: int) -> JsonDict:
    """How often value and pairs are those of the printed listing, on random matrices; `levels` make ties."""
    rng = np.random.default_rng(seed)
    values = pairs = 0
    largest = 0.0
    for _ in range(matrices):
        C = rng.random(rng.integers(1, LARGEST + 1, 2))
        C = np.floor(C * levels) / levels if levels else C
        value, matched = ordered(C)
        printed, printed_pairs = run_algorithm(C.tolist())
        largest = max(largest, abs(value - printed))
        values += abs(value - printed) < 1e-12
        pairs += [(int(i), int(j)) for i, j in matched] == printed_pairs
    return {"matrices": matrices, "same value": values / matrices, "same pairs": pairs / matrices, "largest": largest}


def run_algorithm(C: list[list[float]]) -> tuple[float, list[tuple[int, int]]]:
    """Algorithm 1, line by line; its BACKTRACK exchanges LEFT and UPPER and has no border: as its text means it."""
    G, P = len(C), len(C[0])
    S = [[0.0] * (P + 1) for _ in range(G + 1)]
    B = [[0] * (P + 1) for _ in range(G + 1)]
    for i in range(1, G + 1):
        for j in range(1, P + 1):
            left, diagonal, upper = S[i - 1][j], S[i - 1][j - 1] + C[i - 1][j - 1], S[i][j - 1]
            best = max(left, diagonal, upper)
            if best == left:
                S[i][j], B[i][j] = left, LEFT
            if best == diagonal:
                S[i][j], B[i][j] = diagonal, DIAGONAL
            if best == upper:
                S[i][j], B[i][j] = upper, UPPER
    pairs = []
    k, l = G, P  # noqa: E741  (as printed)
    while k > 0 and l > 0:
        if B[k][l] == DIAGONAL:
            pairs.append((k - 1, l - 1))
            k, l = k - 1, l - 1  # noqa: E741
        elif B[k][l] == LEFT:
            k -= 1
        else:
            l -= 1  # noqa: E741
    return S[G][P], pairs[::-1]


# --- DenseCap --------------------------------------------------------------------------------------------------------


def mean_precision(predictions: Path, references: Path) -> JsonDict:
    """Mean average precision by the readme: 5 × 6 thresholds, reference boxes merged at .7."""
    truth = {str(row["image_id"]): merge(row["boxes"], row["captions"]) for _, row in read_objects(references)}
    detections: list[tuple[float, float, float]] = []  # confidence, IoU of a free reference (else 0), METEOR
    for _, row in read_objects(predictions):
        boxes, taken = truth.get(str(row["image_id"]), []), set[int]()
        listed = zip(row["scores"], row["boxes"], row["captions"], strict=True)
        for score, box, caption in sorted(listed, key=lambda d: -d[0]):
            overlaps = [iou(box, reference) for reference, _ in boxes]
            best = int(np.argmax(overlaps)) if overlaps and max(overlaps) > 0 else -1
            free = best >= 0 and best not in taken
            taken |= {best} if best >= 0 else set()
            words = meteor.score(caption, boxes[best][1]).score if best >= 0 else 0.0
            detections.append((score, overlaps[best] if free else 0.0, words))
    detections.sort(key=lambda d: -d[0])
    count = sum(map(len, truth.values()))
    both = [precision([v >= o and w > s for _, v, w in detections], count) for o in IOUS for s in METEORS]
    place = [precision([v >= o for _, v, _ in detections], count) for o in IOUS]
    return {"map": mean(both), "detmap": mean(place)}


def merge(boxes: list[Box], captions: list[str]) -> list[tuple[Box, list[str]]]:
    """References that overlap by .7: the box with the most neighbours takes them, again and again."""
    left, groups = list(range(len(boxes))), list[tuple[Box, list[str]]]()
    while left:
        near = {i: [j for j in left if j == i or iou(boxes[i], boxes[j]) >= MERGED] for i in left}
        group = near[max(left, key=lambda i: (len(near[i]), -i))]
        corners = [(b[0], b[1], b[0] + b[2], b[1] + b[3]) for b in (boxes[j] for j in group)]
        x1, y1, x2, y2 = (mean(side) for side in zip(*corners, strict=True))
        groups.append(((x1, y1, x2 - x1, y2 - y1), [captions[j] for j in group]))
        left = [j for j in left if j not in group]
    return groups


def iou(a: Box, b: Box) -> float:
    wide = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    high = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    inside = max(wide, 0.0) * max(high, 0.0)
    return inside / (a[2] * a[3] + b[2] * b[3] - inside)


def precision(hits: list[bool], count: int) -> float:
    """The mean over recall levels 0, .01 … .99 of the best precision at that recall or beyond."""
    found = np.cumsum(hits)
    recall, precise = found / count, found / np.arange(1, len(hits) + 1)
    levels = [precise[recall >= k / LEVELS - 1e-12] for k in range(LEVELS)]
    return mean(float(rest.max()) if len(rest) else 0.0 for rest in levels)
