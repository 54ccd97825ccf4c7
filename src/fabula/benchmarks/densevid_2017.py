"""densevid_eval by the rules of 2017, which the Masked Transformer's authors keep (Zhou et al., CVPR 2018)."""

from __future__ import annotations

from fabula.benchmarks._densevid import FIRST_1000, PAPER, POOLED_QUIRK, VIDEO_QUIRK, detection, words
from fabula.benchmarks.base import Protocol

PROTOCOL = Protocol(
    name="densevid-2017",
    task="dense",
    paper=PAPER,
    repository="github.com/LuoweiZhou/densevid_eval",
    commit="58853c7",
    metrics=(*words("last", **FIRST_1000), detection(**FIRST_1000)),
    quirks=(
        "Of the predictions that overlap nothing at most the last one counts, so false positives are nearly free.",
        POOLED_QUIRK,
        VIDEO_QUIRK,
    ),
)
