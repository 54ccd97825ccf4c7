"""Moments in a corpus: the right stretch of the right video, from a ranking (VCMR, SVMR, VR)."""

from __future__ import annotations

from fabula.score import queries
from fabula.score.base import Task

TASK = Task(
    name="moments",
    about="moments found in a corpus of videos: VCMR, SVMR, VR",
    run=lambda request: queries.run(request, "moments"),
)
