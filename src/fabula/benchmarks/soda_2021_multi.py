"""SODA's own evaluator with --multi_reference: per video the reference file with the best F1 (for a: per τ)."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.benchmarks.soda_2021 import COMMIT, MULTI, PAPER, REPOSITORY
from fabula.benchmarks.soda_2021 import PROTOCOL as MERGED

PROTOCOL = Protocol(
    name="soda-2021-multi",
    task="dense",
    paper=PAPER,
    repository=REPOSITORY,
    commit=COMMIT,
    metrics=MULTI,
    quirks=(
        "Per video the reference file with the best F1 counts, the first on ties.",
        "References are taken in file order, not sorted by start.",
        *(q for q in MERGED.quirks if "merged" not in q),
    ),
)
