"""One file per task: reads its files, asks the engine for rows, folds them into a result."""

from __future__ import annotations

from fabula.core.registry import Room
from fabula.tasks._task import Request, Task, check_options

__all__ = ["Request", "Task", "check_options", "room", "task"]

room = Room(__name__, "TASK", "task")


def task(name: str) -> Task:
    """A task by name: dense, procedure, captions, …"""
    made: Task = room.get(name)
    return made
