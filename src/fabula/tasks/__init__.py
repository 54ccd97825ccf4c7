"""One file per task: reads its files, asks the engine for rows, folds them into a result."""

from __future__ import annotations

from fabula.core.errors import SpecError
from fabula.core.registry import Room
from fabula.tasks._task import Request, Task

__all__ = ["Request", "Task", "check_options", "room", "task"]

room = Room(__name__, "TASK", "task")


def task(name: str) -> Task:
    """A task by name: dense, procedure, captions, …"""
    made: Task = room.get(name)
    return made


def check_options(name: str, **given: object) -> None:
    """Refuse an option that the task does not read: whoever says it believes that it was heeded."""
    for option in (option for option, value in given.items() if value and option not in task(name).reads):
        known = ", ".join(other for other in room.names() if option in task(other).reads)
        raise SpecError(f"--{option.replace('_', '-')} says nothing to the task {name}; it is for {known}")
