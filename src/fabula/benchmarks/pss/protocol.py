"""Procedure segmentation as the PSS paper reports it (Batra et al., BMVC 2022): SODA-D beside mIoU and mJaccard."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.stories import miou, mjaccard, soda_d

PROTOCOL = Protocol(
    name="pss-2022",
    task="procedure",
    paper="Batra et al., BMVC 2022",
    repository="github.com/anilbatra2185/pss_soda_matching",
    commit="a57c624",
    metrics=(
        soda_d.Metric(refs="single", eps=1e-8, missing="drop", order="start", segments="raw"),
        miou.Metric(refs="single", segments="raw"),
        mjaccard.Metric(refs="single", segments="raw"),
    ),
    quirks=(
        "SODA_d is SODA's own program: reference videos without predictions are left out of its mean.",
        "mJaccard divides by the length of the prediction, which rewards short segments.",
    ),
)
