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
    gx1, gy1, gx2, gy2 = g.T[:, :, None]  # [G, 1] each
    px1, py1, px2, py2 = p.T[:, None, :]  # [1, P] each
    iw = np.minimum(gx2, px2) - np.maximum(gx1, px1) + pixel
    ih = np.minimum(gy2, py2) - np.maximum(gy1, py1) + pixel
    inter = np.where((iw > 0) & (ih > 0), iw * ih, 0.0)
    union = area(g, pixel)[:, None] + area(p, pixel)[None, :] - inter
    iou: Matrix = np.divide(inter, union, out=np.zeros_like(inter), where=inter > 0)
    return iou


def area(boxes: Boxes, pixel: int = 0) -> Boxes:
    """[N]"""
    sizes = boxes[:, 2:] - boxes[:, :2] + pixel
    product: Boxes = sizes[:, 0] * sizes[:, 1]
    return product
