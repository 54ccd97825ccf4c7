"""Procedure segmentation: steps with times alone."""

from __future__ import annotations

from fabula.score import stories
from fabula.score.base import Task

TASK = Task(
    name="procedure",
    about="procedure steps: events with times alone",
    run=lambda request: stories.run(request, "procedure"),
)
