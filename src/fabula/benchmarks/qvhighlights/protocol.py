"""QVHighlights (Lei et al., NeurIPS 2021): Moment-DETR's evaluator, and Lighthouse's."""

from __future__ import annotations

from typing import Any

from fabula.benchmarks.base import Protocol
from fabula.metrics.moments import hl, mr

KEPT: dict[str, Any] = {"missing": "error", "repeated": "last"}
# QVHighlights' evaluator (Lei et al., NeurIPS 2021) in Moment-DETR's repository: windows by length, highlights.
QVHIGHLIGHTS = Protocol(
    name="qvhighlights",
    task="highlights",
    paper="Lei et al., NeurIPS 2021",
    repository="github.com/jayleicn/moment_detr",
    commit="b7e553a",
    metrics=(
        mr.FirstRecall(order="file", undefined="chosen", long=150, **KEPT),
        mr.MeanPrecision(order="file", empty="drop", undefined="hit", long=150, **KEPT | {"repeated": "join"}),
        hl.MeanPrecision(steps="scores", **KEPT),
        hl.Hit1(**KEPT),
    ),
    quirks=(
        "R1 takes the window that is listed first, whatever its score.",
        "mAP looks at the first 10 windows of the file, not at the 10 best.",
        "A query with an empty list of windows does not count for mAP, so that silence raises it.",
        "An empty list of windows ends the published program at R1; here it is a miss.",
        "Windows of more than 150 s have no length of their own, but count for the whole.",
        "mAP takes a reversed window as long as a reference for a hit: its IoU is 0/0, which no threshold turns down.",
        "R1 compares with a reversed reference as long as the first window, a miss, whatever the others are.",
        "Of two answers to a query R1 and highlights take the last; mAP takes the first 10 windows of each.",
        "Several highlights of one score count once in highlight mAP.",
        "Windows are scored where the predictions have windows, highlights where they have saliency.",
    ),
)

WINDOWS: dict[str, Any] = {"lengths": False, "longest": 1500}
# Lighthouse's evaluator (Nishimura et al., EMNLP 2024): QVHighlights' without lengths, for windows up to 1,500 s.
LIGHTHOUSE = Protocol(
    name="lighthouse",
    task="highlights",
    paper="Nishimura et al., EMNLP 2024",
    repository="github.com/line/lighthouse",
    commit="d095eaa",
    metrics=(
        mr.FirstRecall(order="file", undefined="chosen", **WINDOWS, **KEPT),
        mr.MeanPrecision(order="file", empty="drop", undefined="hit", **WINDOWS, **KEPT | {"repeated": "join"}),
        hl.MeanPrecision(steps="scores", **KEPT),
        hl.Hit1(**KEPT),
    ),
    quirks=(
        "Windows of more than 1,500 s vanish, and with them the queries that have no other.",
        *(q for q in QVHIGHLIGHTS.quirks if "150 s" not in q),
    ),
)

PROTOCOLS = (QVHIGHLIGHTS, LIGHTHOUSE)
