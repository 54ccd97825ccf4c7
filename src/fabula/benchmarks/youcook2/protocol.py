"""ProcNets' evaluation of YouCook2 segments (Zhou et al., AAAI 2018): P and R at τ = .5, mIoU, mJaccard."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.stories import miou, mjaccard, prf

PROTOCOL = Protocol(
    name="procnets",
    task="procedure",
    paper="Zhou et al., AAAI 2018",
    repository="github.com/LuoweiZhou/ProcNets-YouCook2",
    commit="815ae58",
    metrics=(
        prf.Metric(top=15, refs="best", best_by="each", f1="means", order="file", segments="raw", eps=1e-8),
        miou.Metric(segments="raw"),
        mjaccard.Metric(segments="raw"),
    ),
    quirks=(
        "Only the first 15 predictions of a video count, in file order.",
        "With several references the best precision and the best recall are taken on their own.",
        "mJaccard divides by the length of the prediction, which rewards short segments.",
    ),
)
