"""Temporal intersection over union of every reference with every prediction.

    inter = max(0, min(e_g, e_p) − max(s_g, s_p))
    union = (e_g − s_g) + (e_p − s_p) − inter
    IoU   = inter / (union + ε)

`hull_iou` and `area_iou` are what evaluators of moments compute; the same number wherever two stretches overlap.
Published evaluators add ε = 1e-8, so that a perfect match falls just short of 1; ours adds nothing.
A segment that is reversed, zero-length, negative or endless overlaps nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

Spans = NDArray[np.float64]  # [N, 2] start, end in seconds
Matrix = NDArray[np.float64]  # [G, P]
P = ParamSpec("P")
T = TypeVar("T")


def endless(measure: Callable[P, T]) -> Callable[P, T]:
    """Lengths beyond 1.8e308 become endless without a warning: of two that overlap the hull counts, of others nothing.

    A context of its own for each call: numpy's own decorator keeps one, which nested calls and threads would share.
    """

    @wraps(measure)
    def quiet(*args: P.args, **kwargs: P.kwargs) -> T:
        with np.errstate(over="ignore", invalid="ignore"):
            return measure(*args, **kwargs)

    return quiet


def intersection(g: Spans, p: Spans) -> Matrix:
    """Seconds shared. [G, P]"""
    return shared(g[:, None, :], p[None, :, :])


@endless
def shared(g: Spans, p: Spans) -> Matrix:
    """Seconds shared by spans that stand opposite each other: […, 2] and […, 2] → […]."""
    seconds: Matrix = np.minimum(g[..., 1], p[..., 1]) - np.maximum(g[..., 0], p[..., 0])
    return np.maximum(0.0, seconds)


def sound(spans: Spans) -> NDArray[np.bool_]:
    """False for reversed, zero-length, negative and endless ones, as Segment.sound. [N]"""
    start, end = spans[:, 0], spans[:, 1]
    good: NDArray[np.bool_] = (start >= 0) & (start < end) & (end < np.inf)
    return good


def forward(spans: Spans) -> Spans:
    """The ends of reversed segments exchanged, as scenic's evaluators do. […, 2]"""
    return np.sort(spans, axis=-1)


def tiou(g: Spans, p: Spans, eps: float = 0.0, raw: bool = False) -> Matrix:
    """IoU of references g and predictions p. `raw` judges no segment: the published evaluators' arithmetic. [G, P]"""
    return overlap(g[:, None, :], p[None, :, :], eps, raw)


@endless
def overlap(g: Spans, p: Spans, eps: float = 0.0, raw: bool = False) -> Matrix:
    """IoU of spans that stand opposite each other: […, 2] and […, 2] → […]."""
    inter = shared(g, p)  # 0 wherever a segment is reversed or empty
    if not raw:
        inter = inter * ((g[..., 0] >= 0) & (p[..., 0] >= 0))
    union = (g[..., 1] - g[..., 0]) + (p[..., 1] - p[..., 0])
    hull = np.maximum(g[..., 1], p[..., 1]) - np.minimum(g[..., 0], p[..., 0])
    union = np.minimum(hull, union)  # overlapping: the hull is the union
    meet = (inter > 0) & np.isfinite(union)
    iou: Matrix = np.divide(inter, union + eps, out=np.zeros_like(inter), where=meet)
    return iou


@endless
def hull_iou(g: Spans, p: Spans) -> Matrix:
    """inter / (max end − min start), in the numbers' precision, no segment judged: TVR's arithmetic. […, 2] → […]"""
    inter = shared(g, p)
    hull = np.maximum(g[..., 1], p[..., 1]) - np.minimum(g[..., 0], p[..., 0])
    iou: Matrix = np.divide(inter, hull, out=np.zeros_like(inter), where=hull != 0)
    return iou


@endless
def area_iou(g: Spans, p: Spans) -> Matrix:
    """inter / (sum of lengths − inter), no segment judged: QVHighlights' arithmetic. […, 2] → […]"""
    inter = shared(g, p)
    union = (g[..., 1] - g[..., 0]) + (p[..., 1] - p[..., 0]) - inter
    iou: Matrix = np.divide(inter, union, out=np.zeros_like(inter), where=union != 0)
    return iou


def single_iou(g: Spans, p: Spans) -> Matrix:
    """`area_iou` of times and lengths in single precision, 0 where both have no length: E.T. Bench. […, 2] → […]"""
    return area_iou(g.astype(np.float32), p.astype(np.float32)).astype(np.float64)
