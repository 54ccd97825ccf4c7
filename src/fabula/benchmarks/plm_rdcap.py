"""PLM-VideoBench's RDCap in lmms-eval (Cho et al., 2025; tasks/plm_videobench/rdcap): SODA_c by a judge, in frames."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.stories import rdcap

PROTOCOL = Protocol(
    name="plm-rdcap",
    task="dense",
    paper="Cho et al., PerceptionLM, 2025",
    repository="github.com/EvolvingLMMs-Lab/lmms-eval",
    commit="75571cf",
    metrics=(
        rdcap.Metric(
            text="judge:plm",
            reader="plm-rdcap",
            frames="truncated",
            corner="taken",
            refs="single",
            missing="drop",
            order="file",
            segments="swap",
            eps=1e-8,
        ),
    ),
    quirks=(
        "The task asks for [start, end]: [description], and a description in brackets is read as no words at all.",
        "References are cut to whole frames of the 32 that a model is shown, each end alone: a short one has no length "
        "and cannot be found.",
        "Nothing is sorted, and nothing is cut to the 32 frames.",
        "A judge's score is used as it comes: 15 of 10 makes 1.5, and a negative one is not 0.",
        "A judgement that is no plain JSON, fenced ones among them, counts 0.",
        "A judgement without a score, or with one that is no number, ends the published program; here it cannot be "
        "read and counts 0 (failed=zero).",
        "The published program asks its judge about every pair; here pairs that do not overlap are not asked about, "
        "for they count 0 whatever is said.",
        "From about 500 segments on both sides the published program ends (recursion); here it is scored. It rounds "
        "to four decimals.",
    ),
)
