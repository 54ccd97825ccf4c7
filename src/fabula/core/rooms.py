"""A room that shares its name with a verb: `fabula.score` is the package, and calling it is what `fabula score` does.

Python makes a package's sub-packages its attributes when they are imported, so that the verb would be lost behind the
room. The room is made callable instead, and hands the call on to fabula.api.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


class VerbRoom(ModuleType):
    """A package that can be called."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        return verb(self.__name__)(*given, **named)

    @property
    def __signature__(self) -> Any:
        import inspect

        return inspect.signature(verb(self.__name__))


def verb(room: str) -> Any:
    """The library call of a room's name."""
    name = room.rpartition(".")[2]
    return getattr(importlib.import_module(f"fabula.api.{name}"), name)


def also_verb(room: str) -> None:
    """Said by a room in its last line."""
    sys.modules[room].__class__ = VerbRoom
