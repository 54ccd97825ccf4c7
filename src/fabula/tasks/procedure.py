"""Procedure segmentation: steps with times alone."""

from __future__ import annotations

from fabula.tasks import _stories
from fabula.tasks._task import FILES, Task

TASK = Task(
    name="procedure",
    about="procedure steps: events with times alone",
    run=lambda request: _stories.run(request, "procedure"),
    reads=FILES,
)
