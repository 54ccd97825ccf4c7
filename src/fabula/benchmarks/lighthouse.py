"""Lighthouse's evaluator (Nishimura et al., EMNLP 2024): QVHighlights' without lengths, for windows up to 1,500 s."""

from __future__ import annotations

from typing import Any

from fabula.benchmarks import qvhighlights
from fabula.benchmarks.base import Protocol
from fabula.metrics.moments import hl_hit1, hl_map, mr_map, mr_r1

KEPT = qvhighlights.KEPT
WINDOWS: dict[str, Any] = {"lengths": False, "longest": 1500}

PROTOCOL = Protocol(
    name="lighthouse",
    task="highlights",
    paper="Nishimura et al., EMNLP 2024",
    repository="github.com/line/lighthouse",
    commit="d095eaa",
    metrics=(
        mr_r1.Metric(order="file", undefined="chosen", **WINDOWS, **KEPT),
        mr_map.Metric(order="file", empty="drop", undefined="hit", **WINDOWS, **KEPT | {"repeated": "join"}),
        hl_map.Metric(steps="scores", **KEPT),
        hl_hit1.Metric(**KEPT),
    ),
    quirks=(
        "Windows of more than 1,500 s vanish, and with them the queries that have no other.",
        *(q for q in qvhighlights.PROTOCOL.quirks if "150 s" not in q),
    ),
)
