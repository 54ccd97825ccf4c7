"""TimeLens' evaluator (TencentARC, 2025; evaluation/compute_metrics.py), and lmms-eval's: the first window."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.moments import grounding

PROTOCOL = Protocol(
    name="timelens",
    task="grounding",
    paper="Zhang et al., TimeLens, 2025",
    repository="github.com/TencentARC/TimeLens",
    commit="5d90c06",
    metrics=(grounding.Metric(reader="timelens", repeated="last", missing="drop"),),
    quirks=(
        "Any two numbers are a window where there is no dash and no 'to': person 1 starts at 10.5.",
        "A window whose end comes before its start is a miss.",
        "Windows that are given beside the words ('timestamps') win over them.",
        "A query that contains '>>>', and two windows of no length, end the published program.",
    ),
)
