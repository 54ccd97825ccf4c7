"""Ego4D's natural language queries (Grauman et al., CVPR 2022; evaluate_ego4d_nlq.py): R@k at IoU, and a mean IoU."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.moments import grounding, svmr

PROTOCOL = Protocol(
    name="ego4d-nlq",
    task="grounding",
    paper="Grauman et al., CVPR 2022",
    repository="github.com/EGO4D/episodic-memory",
    commit="5275b95",
    metrics=(
        svmr.Metric(k=(1, 3, 5), iou=(0.3, 0.5), cmp=">", top=None, missing="drop", agree=1),
        grounding.Metric(iou=(0.3, 0.5), cmp=">", missing="drop"),
    ),
    quirks=(
        "The overlap must exceed the threshold.",
        "Queries that the predictions do not name leave the mean; the published program prints how many it saw.",
        "Its mean IoU is that of each query's first answer, though the code means the best of three.",
        "A query without any answer ends the published program; one that is answered twice counts twice there.",
        "Where reference and answer have no length, its mean IoU is NaN; here the answer is a miss.",
    ),
)
