"""Packages that load their names when they are first asked for.

Python makes a package's modules its attributes when they are imported. Where a function has the name of its file
(`match.ordered`), the module would hide it; these packages know better.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any


class LazyRoom(ModuleType):
    """A package whose names are loaded when they are first asked for; a name is never its file's module."""

    homes: Mapping[str, str]

    def __getattr__(self, name: str) -> Any:
        if name not in self.homes:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(f"{self.__name__}.{self.homes[name]}"), name)
        self.__dict__[name] = found
        return found

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in self.homes):
            super().__setattr__(name, value)


def lazy_room(room: str, homes: Mapping[str, str]) -> None:
    """Said by a room in its last line: which file has which name."""
    module = sys.modules[room]
    module.__class__ = LazyRoom
    module.__dict__["homes"] = homes
