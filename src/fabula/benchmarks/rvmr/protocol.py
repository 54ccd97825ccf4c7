"""TVR-Ranking's NDCG@K at an IoU (Liang et al., 2024; modules/ndcg_iou.py): graded moments in a corpus."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.moments import ndcg

PROTOCOL = Protocol(
    name="rvmr",
    task="moments",
    paper="Liang et al., TVR-Ranking, 2024",
    repository="github.com/Ranking-VMR/TVR-Ranking",
    commit="db1dc44",
    metrics=(ndcg.Metric(missing="drop", top=None, ties="file"),),
    quirks=(
        "The overlap must exceed the threshold.",
        "A weak overlap that comes first uses up its reference.",
        "Of references that an answer overlaps equally it takes the best graded, of those of one grade the first of "
        "the file: there the number depends on its order.",
        "Queries that the predictions do not name leave the mean.",
    ),
)
