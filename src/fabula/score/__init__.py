"""One file per task: reads its files, checks them, has the metrics make rows, folds them into a signed result."""

from __future__ import annotations

from fabula.core.registry import Room
from fabula.core.rooms import also_verb
from fabula.score.base import Request, Task
from fabula.score.options import ScoreOptions

__all__ = ["Request", "ScoreOptions", "Task", "room", "task"]

room = Room(__name__, "TASK", "task")


def task(name: str) -> Task:
    """A task by name: dense, procedure, captions, …"""
    made: Task = room.get(name)
    return made


also_verb(__name__)
