"""Intersection over union of every reference box with every predicted box.

    iw = min(x2_g, x2_p) − max(x1_g, x1_p) + pixel          ih likewise
    IoU = iw·ih / (A_g + A_p − iw·ih)   where iw > 0 and ih > 0, else 0          A = (x2 − x1 + pixel)(y2 − y1 + pixel)

pixel = 1 is the older habit (PASCAL VOC, DenseCap): x2 is the last pixel inside. pixel = 0 takes it as the edge.
"""

from __future__ import annotations

import numpy as np

from fabula.core.regions import Boxes
from fabula.pair.tiou import Matrix


def box_iou(g: Boxes, p: Boxes, pixel: int = 0) -> Matrix:
    """IoU of boxes given as x1, y1, x2, y2. [G, P]"""
    inter = shared(g, p, 0, pixel)
    inter *= shared(g, p, 1, pixel)
    union = area(g, pixel)[:, None] + area(p, pixel)[None, :]
    union -= inter
    union[inter == 0] = 1.0  # 0 / 1
    inter /= union
    return inter


def shared(g: Boxes, p: Boxes, axis: int, pixel: int = 0) -> Matrix:
    """The length that each two boxes share in width (0) or height (1). [G, P]"""
    length: Matrix = np.minimum(g[:, None, axis + 2], p[None, :, axis + 2])
    length -= np.maximum(g[:, None, axis], p[None, :, axis])
    length += pixel
    return np.maximum(length, 0.0, out=length)


def area(boxes: Boxes, pixel: int = 0) -> Boxes:
    """[N]"""
    sizes = boxes[:, 2:] - boxes[:, :2] + pixel
    product: Boxes = sizes[:, 0] * sizes[:, 1]
    return product
