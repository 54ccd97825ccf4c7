"""OMTG-Bench in VLMEvalKit (2025; vlmeval/dataset/omtgbench.py): all windows of a query, counted and matched."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.moments import onetomany

PROTOCOL = Protocol(
    name="omtg",
    task="grounding",
    paper="OMTG-Bench, 2025",
    repository="github.com/open-compass/VLMEvalKit",
    commit="e8e78f0",
    metrics=(onetomany.Metric(reader="omtg", merge="in-place", missing="drop"),),
    quirks=(
        "The union is made in place: where the first window by start touches or overlaps others, it is matched as long "
        "as their stretch; windows of later stretches are matched as they are.",
        "Where answer and reference are both empty tIoU is 0, though F1 is 1.",
        "A reference that its reader cannot read is an empty one.",
        "Of an answer that says 'ends at 95' the 9 is read.",
    ),
)
