"""VidChapters' evaluation, also Vid2Seq's PyTorch one (Yang et al., NeurIPS 2023): missing videos do not count."""

from __future__ import annotations

from fabula.benchmarks._families.densevid import (
    FIRST_1000,
    POOLED_QUIRK,
    RANDOM_QUIRK,
    RAW,
    VIDEO_QUIRK,
    detection,
    soda_mean,
    words,
)
from fabula.benchmarks.base import Protocol
from fabula.metrics.stories import startprf

STARTS = (1.0, 3.0, 5.0, 10.0, 30.0, 60.0)
DROP = {**FIRST_1000, "missing": "drop"}

PROTOCOL = Protocol(
    name="vidchapters",
    task="dense",
    paper="Yang et al., NeurIPS 2023",
    repository="github.com/antoyang/VidChapters",
    commit="fa3900c",
    metrics=(
        *words("random", **DROP),
        detection("levels", **DROP),
        startprf.Metric(**RAW, **DROP, refs="best", best_by="each", f1="levels", within=STARTS),
        soda_mean(),
    ),
    quirks=(
        "Reference videos without predictions are left out of every mean.",
        "F1 is made of mean precision and mean recall at each τ, then averaged over τ.",
        RANDOM_QUIRK,
        POOLED_QUIRK,
        VIDEO_QUIRK,
    ),
)
