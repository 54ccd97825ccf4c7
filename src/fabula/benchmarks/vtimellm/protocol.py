"""VTimeLLM's evaluation of dense captions, after VidChapters' (Huang et al., CVPR 2024); its reader is not repeated."""

from __future__ import annotations

from fabula.benchmarks._families.densevid import FIRST_1000, POOLED_QUIRK, RANDOM_QUIRK, VIDEO_QUIRK, soda_mean, words
from fabula.benchmarks.base import Protocol

PROTOCOL = Protocol(
    name="vtimellm",
    task="dense",
    paper="Huang et al., CVPR 2024",
    repository="github.com/huangb23/VTimeLLM",
    commit="c34ae56",
    metrics=(soda_mean(), *words("random", **FIRST_1000, missing="drop")[:2]),
    quirks=(
        "Reference videos without an answer are left out; an answer that cannot be parsed counts as 0.",
        "Before scoring, its reader merges neighbours that say the same and lengthens each event by a hundredth.",
        RANDOM_QUIRK,
        POOLED_QUIRK,
        VIDEO_QUIRK,
    ),
)
