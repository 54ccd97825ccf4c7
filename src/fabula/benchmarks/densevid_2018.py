"""densevid_eval of 2018 (Krishna et al., ICCV 2017): unmatched predictions meet a fixed text."""

from __future__ import annotations

from fabula.benchmarks._densevid import FIRST_1000, PAPER, POOLED_QUIRK, VIDEO_QUIRK, detection, words
from fabula.benchmarks.base import Protocol

PROTOCOL = Protocol(
    name="densevid-2018",
    task="dense",
    paper=PAPER,
    repository="github.com/ranjaykrishna/densevid_eval",
    commit="deba7d7",
    metrics=(*words("abc", **FIRST_1000), detection(**FIRST_1000)),
    quirks=(
        "A prediction that overlaps nothing is compared with the text abc123!@#, four words for METEOR.",
        POOLED_QUIRK,
        VIDEO_QUIRK,
    ),
)
