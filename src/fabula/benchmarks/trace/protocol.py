"""TRACE's evaluation of dense captions, after TimeChat's (Guo et al., ICLR 2025)."""

from __future__ import annotations

from fabula.benchmarks._families.scenic import QUIRKS, SHIFTED_QUIRK, metrics
from fabula.benchmarks.base import Protocol

PROTOCOL = Protocol(
    name="trace",
    task="dense",
    paper="Guo et al., ICLR 2025",
    repository="github.com/gyxxyg/TRACE",
    commit="fba1e40",
    metrics=metrics("drop", pairing="shifted"),
    quirks=(*QUIRKS, "Reference videos without predictions are left out of every mean.", SHIFTED_QUIRK),
)
