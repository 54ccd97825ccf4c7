"""lmms-eval's Charades-STA (Li et al., 2024; tasks/charades_sta/utils.py): a video LLM's words, its first window."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.moments import grounding

PROTOCOL = Protocol(
    name="charades-lmms",
    task="grounding",
    paper="Zhang et al., lmms-eval, 2024",
    repository="github.com/EvolvingLMMs-Lab/lmms-eval",
    commit="75571cf",
    metrics=(grounding.Metric(reader="charades-lmms", repeated="last", missing="drop"),),
    quirks=(
        "Every 'to' becomes a dash before numbers are looked for, inside words too.",
        "What stands between <think> and </think> is read like the rest, and its window counts if it comes first.",
        "Where a key of video, query and truth comes twice, the later answer counts.",
        "An answer that cannot be read is a miss.",
    ),
)
