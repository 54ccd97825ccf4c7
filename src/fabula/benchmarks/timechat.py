"""TimeChat's evaluation of dense captions, after scenic (Ren et al., CVPR 2024)."""

from __future__ import annotations

from fabula.benchmarks._scenic import QUIRKS, SHIFTED_QUIRK, metrics
from fabula.benchmarks.base import Protocol

PROTOCOL = Protocol(
    name="timechat",
    task="dense",
    paper="Ren et al., CVPR 2024",
    repository="github.com/RenShuhuai-Andy/TimeChat",
    commit="c60b332",
    metrics=metrics("zero", pairing="shifted"),
    quirks=(*QUIRKS, SHIFTED_QUIRK),
)
