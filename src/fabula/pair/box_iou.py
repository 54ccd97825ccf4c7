"""Intersection over union of every reference box with every predicted box.

    iw = min(x2_g, x2_p) − max(x1_g, x1_p) + pixel          ih likewise
    IoU = iw·ih / (A_g + A_p − iw·ih)   where iw > 0 and ih > 0, else 0          A = (x2 − x1 + pixel)(y2 − y1 + pixel)

pixel = 1 is the older habit (PASCAL VOC, DenseCap): x2 is the last pixel inside. pixel = 0 takes it as the edge.
"""

from __future__ import annotations

import numpy as np

from fabula.data.regions import Boxes
from fabula.pair.tiou import Matrix

FAR = 2.0**500  # sides up to here, and down to its inverse, can be multiplied as they are


def box_iou(g: Boxes, p: Boxes, pixel: int = 0) -> Matrix:
    """IoU of boxes given as x1, y1, x2, y2. [G, P]"""
    if is_extreme(g, pixel) or is_extreme(p, pixel):
        return scaled_iou(g, p, pixel)
    inter = shared(g, p, 0, pixel)
    inter *= shared(g, p, 1, pixel)
    union = area(g, pixel)[:, None] + area(p, pixel)[None, :]
    union -= inter
    union[inter == 0] = 1.0  # 0 / 1
    inter /= union
    return inter


def is_extreme(boxes: Boxes, pixel: int) -> bool:
    """Whether a product of sides may leave the range of doubles, 5e-324 to 1.8e308."""
    if np.abs(boxes).max(initial=0.0) > FAR:
        return True
    sizes = np.abs(boxes[:, 2:] - boxes[:, :2] + pixel)
    return bool(sizes[sizes > 0].min(initial=1.0) < 1 / FAR)


def scaled_iou(g: Boxes, p: Boxes, pixel: int = 0) -> Matrix:
    """The same with the sides of each two boxes brought near 1, by powers of two: no digit is lost. [G, P]"""
    inter, mine, theirs = np.ones((3, len(g), len(p)))
    for axis in (0, 1):
        most = max(np.abs(boxes[:, axis::2]).max(initial=0.0) for boxes in (g, p))
        scale = 0.25 if most > 2.0**1021 else 1.0  # so that no difference overflows
        one, a, b = pixel * scale, g * scale, p * scale
        G, P = (boxes[:, axis + 2] - boxes[:, axis] + one for boxes in (a, b))
        exponent = np.frexp(np.maximum(np.abs(G)[:, None], np.abs(P)[None, :]))[1]
        inter *= np.ldexp(shared(a, b, axis, one), -exponent)
        mine *= np.ldexp(G[:, None], -exponent)
        theirs *= np.ldexp(P[None, :], -exponent)
    union = mine + theirs - inter
    return np.divide(inter, union, out=np.zeros_like(inter), where=(inter > 0) & (union > 0))


def shared(g: Boxes, p: Boxes, axis: int, pixel: float = 0) -> Matrix:
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
