"""TimeChat (Ren et al., CVPR 2024): dense captions, and grounding."""

from __future__ import annotations

from functools import partial

from fabula.benchmarks._families.scenic import QUIRKS, SHIFTED_QUIRK, metrics
from fabula.benchmarks.base import Protocol
from fabula.metrics.moments import grounding

make = partial(
    Protocol, paper="Ren et al., CVPR 2024", repository="github.com/RenShuhuai-Andy/TimeChat", commit="c60b332"
)


# TimeChat's evaluation of dense captions, after scenic (Ren et al., CVPR 2024).
TIMECHAT = make(
    name="timechat",
    task="dense",
    metrics=metrics("zero", pairing="shifted"),
    quirks=(*QUIRKS, SHIFTED_QUIRK),
)

# TimeChat's grounding evaluator eval_tvg (Ren et al., CVPR 2024): the first window that was read from an answer.
TIMECHAT_TVG = make(
    name="timechat-tvg",
    task="grounding",
    metrics=(grounding.Metric(missing="drop"),),
    quirks=(
        "Of several windows in an answer the first counts.",
        "An answer in which no window was found is a miss.",
        "Queries without an entry end the published program; its option --sample leaves them out, as here.",
        "Its program does not print the mean IoU.",
    ),
)

PROTOCOLS = (TIMECHAT, TIMECHAT_TVG)
