"""densevid_eval (Krishna et al., ICCV 2017), three versions."""

from __future__ import annotations

from functools import partial

from fabula.benchmarks._families.densevid import (
    FIRST_1000,
    PAPER,
    POOLED_QUIRK,
    RANDOM_QUIRK,
    VIDEO_QUIRK,
    detection,
    words,
)
from fabula.benchmarks.base import Protocol

make = partial(Protocol, task="dense", paper=PAPER)


# densevid_eval by the rules of 2017, which the Masked Transformer's authors keep (Zhou et al., CVPR 2018).
DENSEVID_2017 = make(
    name="densevid-2017",
    repository="github.com/LuoweiZhou/densevid_eval",
    commit="58853c7",
    metrics=(*words("last", **FIRST_1000), detection(**FIRST_1000)),
    quirks=(
        "Of the predictions that overlap nothing at most the last one counts, so false positives are nearly free.",
        POOLED_QUIRK,
        VIDEO_QUIRK,
    ),
)

# densevid_eval of 2018 (Krishna et al., ICCV 2017): unmatched predictions meet a fixed text.
DENSEVID_2018 = make(
    name="densevid-2018",
    repository="github.com/ranjaykrishna/densevid_eval",
    commit="deba7d7",
    metrics=(*words("abc", **FIRST_1000), detection(**FIRST_1000)),
    quirks=(
        "A prediction that overlaps nothing is compared with the text abc123!@#, four words for METEOR.",
        POOLED_QUIRK,
        VIDEO_QUIRK,
    ),
)

# densevid_eval of 2019, the last one (Krishna et al., ICCV 2017): unmatched predictions meet random letters.
DENSEVID_2019 = make(
    name="densevid-2019",
    repository="github.com/ranjaykrishna/densevid_eval",
    commit="9d4045a",
    metrics=(*words("random", **FIRST_1000), detection(**FIRST_1000)),
    quirks=(RANDOM_QUIRK, POOLED_QUIRK, VIDEO_QUIRK),
)

PROTOCOLS = (DENSEVID_2017, DENSEVID_2018, DENSEVID_2019)
