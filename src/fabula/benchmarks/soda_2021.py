"""SODA's own evaluator with --multi_reference off, its default: the sets of a video are laid together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fabula.benchmarks.base import Protocol
from fabula.metrics.stories import soda_a, soda_b, soda_c, soda_d

PAPER = "Fujita et al., ECCV 2020"
REPOSITORY, COMMIT = "github.com/fujiso/SODA", "9cb3e2c"

story: dict[str, Any] = {"refs": "merged", "missing": "drop", "order": "start", "segments": "raw", "eps": 1e-8}
words: dict[str, Any] = {"text": "meteor", "roles": "gold-as-hypothesis", "tok": "ptb", "nonascii": "blank"}

METRICS = (
    soda_a.Metric(**story, **words, backtrack="marked"),
    soda_b.Metric(**story, **words, backtrack="marked"),
    soda_c.Metric(**story, **words),
    soda_d.Metric(**story),
)

PROTOCOL = Protocol(
    name="soda-2021",
    task="dense",
    paper=PAPER,
    repository=REPOSITORY,
    commit=COMMIT,
    metrics=METRICS,
    quirks=(
        "The caption scorer gets its sides exchanged: the gold sentence is its hypothesis.",
        "Reference videos without predictions are left out of the mean.",
        "Several reference files are merged per video, so that recall is divided by all their events.",
        "a and b read pairs off the table by marks instead of following the best path; one pair always comes out.",
        "A video whose prediction list is empty ends the published program; here it counts as 0.",
    ),
)

MULTI = tuple(replace(m, refs="best", order="predictions") for m in METRICS)
