"""Dense video captioning: events with times and words."""

from __future__ import annotations

from fabula.tasks import _stories
from fabula.tasks._task import FILES, Task

TASK = Task(
    name="dense",
    about="dense video captions: events with times and words",
    run=lambda request: _stories.run(request, "dense"),
    reads=FILES,
)
