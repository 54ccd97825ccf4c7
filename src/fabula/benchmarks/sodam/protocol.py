"""SodaM (TimeChat-Captioner: Yao et al., ICML 2026): merged predictions against checklists, and the times beside it."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol, Settings
from fabula.metrics.stories import mergedprf, prf, soda_m

story: Settings = {"refs": "single", "missing": "zero", "order": "file", "segments": "swap", "eps": 1e-8}
merging: Settings = {"backtrack": "marked", "merge": "all"}
LEVELS = (0.3, 0.5, 0.7, 0.9)

PROTOCOL = Protocol(
    name="sodam",
    task="dense",
    paper="Yao et al., ICML 2026",
    repository="github.com/yaolinli/TimeChat-Captioner",
    commit="9014445",
    metrics=(
        soda_m.Metric(
            **story, **merging, judge="timechat-captioner", per="groups", counts="raw", dims="all", broken="before"
        ),
        prf.Metric(**story, tau=LEVELS),
        mergedprf.Metric(**story, **merging, tau=LEVELS, mean="predictions"),
    ),
    quirks=(
        "Every prediction joins a group, and precision is per group: pieces and junk around a right segment are free.",
        "Predictions that overlap nothing still score: one anchor always comes out, and no IoU enters the number.",
        "A judge may count more points than there are, and a score exceed 1.",
        "A reference without points of a dimension counts as 0 there, so that a perfect video is below 1.",
        "Where counts cannot be read, the total is 0 and the dimensions of the group before are taken again.",
        "The published program gives every prediction the time of the file's last reference, and three of its four "
        "formats end it: not repeated here; SODA_m(times=published) shows the number that it would give.",
        "A file in which no reference has keypoints scores 0 there, after a judge was paid; here it is refused.",
        "eval_time merges predictions into hulls first, which fills gaps, and its mIoU averages over hulls.",
    ),
)
