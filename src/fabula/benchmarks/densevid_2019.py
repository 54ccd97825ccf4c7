"""densevid_eval of 2019, the last one (Krishna et al., ICCV 2017): unmatched predictions meet random letters."""

from __future__ import annotations

from fabula.benchmarks._densevid import FIRST_1000, PAPER, POOLED_QUIRK, RANDOM_QUIRK, VIDEO_QUIRK, detection, words
from fabula.benchmarks.base import Protocol

PROTOCOL = Protocol(
    name="densevid-2019",
    task="dense",
    paper=PAPER,
    repository="github.com/ranjaykrishna/densevid_eval",
    commit="9d4045a",
    metrics=(*words("random", **FIRST_1000), detection(**FIRST_1000)),
    quirks=(RANDOM_QUIRK, POOLED_QUIRK, VIDEO_QUIRK),
)
