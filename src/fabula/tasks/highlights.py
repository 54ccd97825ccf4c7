"""Moments and highlights of one video for a query (QVHighlights)."""

from __future__ import annotations

from fabula.tasks import _moments
from fabula.tasks._task import FILES, Task

TASK = Task(
    name="highlights",
    about="windows and highlight clips of a known video for a query, as in QVHighlights",
    run=lambda request: _moments.run(request, "highlights"),
    reads=FILES,
)
