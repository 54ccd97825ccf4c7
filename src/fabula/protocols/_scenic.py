"""What the evaluators that descend from scenic's Vid2Seq share (Yang et al., CVPR 2023)."""

from __future__ import annotations

from typing import Any

from fabula.metrics.base import Metric
from fabula.protocols._densevid import detection, paragraphs, soda_mean, words

QUIRKS = (
    "From 11 predictions on, caption scores of SODA_c stand in the order of names 0, 1, 10, 11, 2: wrong columns.",
    "The ends of a reversed segment are exchanged.",
    "SODA_c sorts neither side by time, and its scorer gets the sides exchanged.",
    "A prediction that overlaps nothing is compared with random letters; METEOR does not depend on them.",
    "F1 is made per video of precision and recall averaged over τ.",
)


def metrics(missing: str, pairing: str = "video") -> tuple[Metric, ...]:
    rules: dict[str, Any] = {"segments": "swap", "missing": missing}
    return (
        soda_mean(**rules, order="file", columns="sorted", nonascii="keep"),
        *words("random", "keep", **rules)[:2],
        detection("videos", **rules),
        *paragraphs(missing=missing, pairing=pairing)[:2],
    )
