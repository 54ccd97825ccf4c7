"""PLM-VideoBench's RTLoc in lmms-eval (Cho et al., 2025; tasks/plm_videobench/rtloc): one window in frames 0 … 31."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.moments import rtloc

PROTOCOL = Protocol(
    name="plm-rtloc",
    task="grounding",
    paper="Cho et al., PerceptionLM, 2025",
    repository="github.com/EvolvingLMMs-Lab/lmms-eval",
    commit="75571cf",
    metrics=(rtloc.Metric(cmp=">", reader="plm-rtloc", frames="truncated", segments="swap", eps=1e-8, missing="drop"),),
    quirks=(
        "Reference windows are cut to whole frames of the 32 that a model is shown, each end alone: a short one has no "
        "length and cannot be found.",
        "The first window in square brackets counts; numbers with a sign, or with a zero in front, are not read.",
        "An answer that cannot be read is a miss.",
        "An overlap of exactly τ is a miss; a perfect window has an overlap just below 1.",
        "mean_precision and mean_recall are one number, since one window stands against one: here it is recall. The "
        "published program rounds to four decimals.",
    ),
)
