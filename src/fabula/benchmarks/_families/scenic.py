"""What the evaluators that descend from scenic's Vid2Seq share (Yang et al., CVPR 2023)."""

from __future__ import annotations

from fabula.benchmarks._families.densevid import detection, paragraphs, soda_mean, words
from fabula.benchmarks.base import Settings
from fabula.metrics.base import Metric

QUIRKS = (
    "From 11 predictions on, caption scores of SODA_c stand in the order of names 0, 1, 10, 11, 2: wrong columns.",
    "The ends of a reversed segment are exchanged.",
    "SODA_c sorts neither side by time, and its scorer gets the sides exchanged.",
    "A prediction that overlaps nothing is compared with random letters; METEOR does not depend on them.",
    "F1 is made per video of precision and recall averaged over τ.",
)


SHIFTED_QUIRK = "Paragraphs: after the first missing video, predictions are compared with another video's references."


def metrics(missing: str, pairing: str = "video", nonascii: str = "keep") -> tuple[Metric, ...]:
    rules: Settings = {"segments": "swap", "missing": missing}
    listed = "zero" if pairing == "shifted" else missing  # a shift is by the videos that have no prediction
    return (
        soda_mean(**rules, order="file", columns="sorted", nonascii=nonascii),
        *words("random", nonascii, **rules)[:2],
        detection("videos", **rules),
        *paragraphs(missing=listed, pairing=pairing)[:2],
    )
