"""Moments and highlights of one video for a query (QVHighlights)."""

from __future__ import annotations

from fabula.score import queries
from fabula.score.base import Task

TASK = Task(
    name="highlights",
    about="windows and highlight clips of a known video for a query, as in QVHighlights",
    run=lambda request: queries.run(request, "highlights"),
)
