"""Time-R1's evaluator (Wang et al., 2025; evaluate.py): the last `a to b`, thoughts included; failed answers vanish."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.moments import grounding

PROTOCOL = Protocol(
    name="time-r1",
    task="grounding",
    paper="Wang et al., Time-R1, 2025",
    repository="github.com/www-Ye/Time-R1",
    commit="d1a0d54",
    metrics=(grounding.Metric(reader="time-r1", missing="drop"),),
    quirks=(
        "The last 'a to b' or 'a and b' of the whole text counts, what the model thinks included.",
        "A query whose inference failed, or whose video is not there, leaves the mean.",
        "A window whose end comes before its start is a miss.",
    ),
)
