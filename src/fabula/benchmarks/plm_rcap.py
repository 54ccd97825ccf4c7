"""PLM-VideoBench's RCap in lmms-eval (Cho et al., 2025; tasks/plm_videobench/rcap): one caption, one judgement."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.captions import rcap

PROTOCOL = Protocol(
    name="plm-rcap",
    task="captions",
    paper="Cho et al., PerceptionLM, 2025",
    repository="github.com/EvolvingLMMs-Lab/lmms-eval",
    commit="75571cf",
    metrics=(rcap.Metric(text="judge:plm-rcap", missing="drop"),),
    quirks=(
        "A judge's score is used as it comes: 15 of 10 makes 1.5, and a negative one is not 0.",
        "A judgement that is no plain JSON, fenced ones among them, counts 0; unread counts them, and is 1 − the "
        "published success_rate.",
        "A judgement without a score or an explanation, or with a score that is no number, ends the published program; "
        "here it cannot be read and counts 0 (failed=zero).",
        "The published program rounds to four decimals.",
    ),
)
