"""Grounding: one window per query in a known video, such as a video LLM answers."""

from __future__ import annotations

from fabula.tasks import _moments
from fabula.tasks._task import FILES, Task

TASK = Task(
    name="grounding",
    about="one window per query in a known video, such as a video LLM answers",
    run=lambda request: _moments.run(request, "grounding"),
    reads=FILES,
)
