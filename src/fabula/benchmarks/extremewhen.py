"""lmms-eval's ExtremeWhenBench (tasks/extremewhenbench/utils.py): the last window of an answer."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.moments import grounding

PROTOCOL = Protocol(
    name="extremewhen",
    task="grounding",
    paper="ExtremeWhenBench, 2026",
    repository="github.com/EvolvingLMMs-Lab/lmms-eval",
    commit="75571cf",
    metrics=(grounding.Metric(reader="extremewhen", missing="drop"),),
    quirks=(
        "The last window of an answer counts; clocks are read as plain numbers (00:10 - 00:12 is 0 to 10).",
        "An answer that cannot be read is a miss.",
    ),
)
