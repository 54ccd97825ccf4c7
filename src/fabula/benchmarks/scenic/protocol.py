"""Vid2Seq's evaluation in scenic (Yang et al., CVPR 2023)."""

from __future__ import annotations

from fabula.benchmarks._families.scenic import QUIRKS, metrics
from fabula.benchmarks.base import Protocol

PROTOCOL = Protocol(
    name="vid2seq",
    task="dense",
    paper="Yang et al., CVPR 2023",
    repository="github.com/google-research/scenic",
    commit="4a38d47",
    metrics=metrics("zero", nonascii="blank"),
    quirks=(*QUIRKS, "Its trainer makes every non-ASCII character of both sides a blank before it scores."),
)
