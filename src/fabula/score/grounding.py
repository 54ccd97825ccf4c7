"""Grounding: one window per query in a known video, such as a video LLM answers."""

from __future__ import annotations

from fabula.score import queries
from fabula.score.base import Task

TASK = Task(
    name="grounding",
    about="one window per query in a known video, such as a video LLM answers",
    run=lambda request: queries.run(request, "grounding"),
)
