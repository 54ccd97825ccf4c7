"""Dense video captioning: events with times and words."""

from __future__ import annotations

from fabula.score import stories
from fabula.score.base import Task

TASK = Task(
    name="dense",
    about="dense video captions: events with times and words",
    run=lambda request: stories.run(request, "dense"),
)
