"""PLM-VideoBench's SGQA in lmms-eval (Cho et al., 2025; tasks/plm_videobench/sgqa): open questions, yes or no."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.questions import verdict

PROTOCOL = Protocol(
    name="plm-sgqa",
    task="questions",
    paper="Cho et al., PerceptionLM, 2025",
    repository="github.com/EvolvingLMMs-Lab/lmms-eval",
    commit="75571cf",
    metrics=(verdict.Metric(judge="plm-sgqa", missing="drop"),),
    quirks=(
        "A judgement that is no JSON counts as yes where 'yes' or 'Yes' occurs anywhere in it, in 'eyes' too.",
        "'Yes' and 'YES' inside JSON are no yes; the score that the judge is asked for besides is not used.",
        "A judgement that is JSON without pred ends the published program; here it cannot be read and counts 0 "
        "(failed=zero).",
    ),
)
