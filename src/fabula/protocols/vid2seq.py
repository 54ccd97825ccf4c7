"""Vid2Seq's evaluation in scenic (Yang et al., CVPR 2023)."""

from __future__ import annotations

from fabula.protocols._scenic import QUIRKS, metrics
from fabula.protocols.base import Protocol

PROTOCOL = Protocol(
    name="vid2seq",
    task="dense",
    paper="Yang et al., CVPR 2023",
    repository="github.com/google-research/scenic",
    commit="2026 snapshot",
    metrics=metrics("zero"),
    quirks=QUIRKS,
)
