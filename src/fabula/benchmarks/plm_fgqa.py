"""PLM-VideoBench's FGQA in lmms-eval (Cho et al., 2025; tasks/plm_videobench/fgqa): options, all of a group right."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.questions import choice

PROTOCOL = Protocol(
    name="plm-fgqa",
    task="questions",
    paper="Cho et al., PerceptionLM, 2025",
    repository="github.com/EvolvingLMMs-Lab/lmms-eval",
    commit="75571cf",
    metrics=(choice.Metric(read="plm", by="group", missing="drop"),),
    quirks=(
        "The first word of an answer is right where it is a part of the label: '(', ')' and '.' are right everywhere.",
        "An answer that begins with a blank is wrong.",
        "A group of questions (qa_uid) counts as right where all its questions are: multibinary_accuracy.",
    ),
)
