"""AuroraCap's own evaluator of VDC (Chai et al., ICLR 2025), which leaves out captions that score 0."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.questions import vdc

PROTOCOL = Protocol(
    name="vdc-aurora",
    task="questions",
    paper="Chai et al., ICLR 2025",
    repository="github.com/rese1f/aurora",
    commit="2bf68d5",
    metrics=(vdc.Metric(judge="aurora", read="literal", yes="exact", failed="drop", zeros="drop", missing="drop"),),
    quirks=(
        "A video is left out where its accuracy or its score is 0.",
        "A video is left out where one of its judgements is no Python literal, or lacks pred or score.",
        "'Yes' is no.",
        "It ends in a division by zero where every video is left out; here both numbers are 0.",
        "Videos without a caption, or without questions, do not count.",
        "A video that stands twice in the file counts twice; here that is an error.",
    ),
)
