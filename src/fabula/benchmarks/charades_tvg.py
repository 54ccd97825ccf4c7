"""lmms-eval's stand-alone script for Charades-STA (tasks/charades_sta/eval_tvg.py): another reader, other numbers."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.moments import grounding

PROTOCOL = Protocol(
    name="charades-tvg",
    task="grounding",
    paper="Zhang et al., lmms-eval, 2024",
    repository="github.com/EvolvingLMMs-Lab/lmms-eval",
    commit="75571cf",
    metrics=(grounding.Metric(reader="charades-tvg", repeated="last", missing="drop"),),
    quirks=(
        "An answer without one of the words start, end or happen is not read: a bare '10.5 - 12.0' is a miss.",
        "A query that contains '>>>', and two windows of no length, end the published program.",
    ),
)
