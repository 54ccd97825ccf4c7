"""Moments in a corpus: the right stretch of the right video, from a ranking (VCMR, SVMR, VR)."""

from __future__ import annotations

from fabula.tasks import _moments
from fabula.tasks._task import FILES, Task

TASK = Task(
    name="moments",
    about="moments found in a corpus of videos: VCMR, SVMR, VR",
    run=lambda request: _moments.run(request, "moments"),
    reads=FILES,
)
