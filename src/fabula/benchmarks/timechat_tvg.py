"""TimeChat's grounding evaluator eval_tvg (Ren et al., CVPR 2024): the first window that was read from an answer."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.moments import grounding

PROTOCOL = Protocol(
    name="timechat-tvg",
    task="grounding",
    paper="Ren et al., CVPR 2024",
    repository="github.com/RenShuhuai-Andy/TimeChat",
    commit="c60b332",
    metrics=(grounding.Metric(missing="drop"),),
    quirks=(
        "Of several windows in an answer the first counts.",
        "An answer in which no window was found is a miss.",
        "Queries without an entry end the published program; its option --sample leaves them out, as here.",
        "Its program does not print the mean IoU.",
    ),
)
