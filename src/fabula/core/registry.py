"""The registry by file name: a file in a room is all it takes to be listed, parsed, tested and printed."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

from fabula.core.errors import SpecError


def close_to(name: str, names: list[str]) -> str:
    """`; did you mean 'x'?` or the whole list."""
    near = difflib.get_close_matches(name.lower(), [n.lower() for n in names], n=1)
    near = [n for n in names if near and n.lower() == near[0]]
    return f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(names)}"


def key(name: str) -> str:
    """Names are the same whatever their case and dashes: soda-2021, SODA_2021."""
    return name.strip().lower().replace("-", "_")


class Room:
    """The public modules of a package that offer one thing under the room's attribute name."""

    def __init__(self, package: str, attribute: str, noun: str) -> None:
        self.package, self.attribute, self.noun = package, attribute, noun

    def modules(self) -> list[str]:
        path = importlib.import_module(self.package).__path__
        return sorted({m.name for m in pkgutil.iter_modules(path) if not m.name.startswith("_")})

    def load(self, module: str) -> Any:
        """None where the module is a helper of the room and offers nothing."""
        return getattr(importlib.import_module(f"{self.package}.{module}"), self.attribute, None)

    def all(self) -> Iterator[Any]:
        return (thing for m in self.modules() if (thing := self.load(m)) is not None)

    def names(self) -> list[str]:
        return [thing.name for thing in self.all()]

    def get(self, name: str) -> Any:
        """By file name, whatever the case; a wrong name names its nearest neighbour."""
        if key(name) in self.modules() and (thing := self.load(key(name))) is not None:
            return thing
        raise SpecError(f"no {self.noun} is called {name!r}; {close_to(name, self.names())}")
