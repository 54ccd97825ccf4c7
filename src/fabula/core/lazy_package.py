"""Packages that load their names at first use.

Python makes a package's modules its attributes when they are imported. Where a function has the name of its file
(`match.ordered`), the module would hide it; these packages return the function.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any


class LazyPackage(ModuleType):
    """A package whose names are loaded at first use; a name is never its file's module."""

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


def load_lazily(package: str, homes: Mapping[str, str]) -> None:
    """Called in the last line of a package: which file has which name."""
    module = sys.modules[package]
    module.__class__ = LazyPackage
    module.__dict__["homes"] = homes
