"""One file per task: reads its files, checks them, has the metrics make rows, folds them into a signed result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabula.core.registry import Room
from fabula.core.rooms import also_verb

if TYPE_CHECKING:
    from fabula.score.base import Request, Task
    from fabula.score.options import ScoreOptions

__all__ = ["Request", "ScoreOptions", "Task", "room", "task"]

room = Room(__name__, "TASK", "task")


def task(name: str) -> Task:
    """A task by name: dense, procedure, captions, …"""
    made: Task = room.get(name)
    return made


def __getattr__(name: str) -> Any:
    """What scoring needs is loaded when it is asked for: options alone make a help text."""
    import importlib

    homes = {"Request": "base", "Task": "base", "ScoreOptions": "options"}
    if name not in homes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{homes[name]}"), name)


also_verb(__name__)
