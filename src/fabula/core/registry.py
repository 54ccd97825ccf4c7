"""The registry by file name: a file in a room is all it takes to be listed, parsed, tested and printed.

A name leads to its file without a look into the others: `soda_c` is soda_c.py; where there is no such file, the longest
head of the name that is one has the family: BLEU_4 and BLEU_1 are in bleu.py. A file offers one thing under the room's
attribute (`Metric`), or a family under its plural (`METRICS`); base.py is what all have in common. A room may have
shelves: folders that sort its files; and a door for other packages, which offer things by entry points of its group.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fabula.core.errors import SpecError


def close_to(name: str, names: list[str]) -> str:
    """`; did you mean 'x'?` or the whole list."""
    import difflib

    near = difflib.get_close_matches(name.lower(), [n.lower() for n in names], n=1)
    near = [n for n in names if near and n.lower() == near[0]]
    return f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(names)}"


def key(name: str) -> str:
    """Names are the same whatever their case and dashes: soda-2021, SODA_2021."""
    return name.strip().lower().replace("-", "_")


BASE = "base"  # what the things of a room or shelf have in common


class Room:
    """The public modules of a package, and of its shelves, that offer something under the room's attribute name."""

    def __init__(
        self, package: str, attribute: str, noun: str, shelves: Sequence[str] = (), group: str | None = None
    ) -> None:
        self.package, self.attribute, self.noun, self.shelves = package, attribute, noun, tuple(shelves)
        self.plural, self.group = f"{attribute.upper()}S", group

    def modules(self, shelf: str | None = None) -> list[str]:
        """Dotted from the room on, by file name; with a shelf, those of the room itself and of that shelf."""
        found: list[tuple[str, str]] = []
        for part in ("", *(self.shelves if shelf is None else [shelf])):
            for module in pkgutil.iter_modules(self.folders(part)):
                if not module.name.startswith("_") and module.name not in (*self.shelves, BASE):
                    found.append((module.name, f"{part}.{module.name}" if part else module.name))
        return [module for _, module in sorted(set(found))]

    def folders(self, shelf: str) -> list[str]:
        """Where the files of a shelf lie (or of the room itself); a shelf is not imported to be looked at."""
        package = f"{self.package}.{shelf}" if shelf else self.package
        if package in sys.modules or not shelf:
            return list(importlib.import_module(package).__path__)
        return [str(Path(folder) / shelf) for folder in importlib.import_module(self.package).__path__]

    def load(self, module: str) -> tuple[Any, ...]:
        """What a module offers; nothing where it is a helper of the room."""
        file = importlib.import_module(f"{self.package}.{module}")
        things = getattr(file, self.plural, None)
        if things is None:
            one = getattr(file, self.attribute, None)
            things = () if one is None else (one,)
        return tuple(t for t in things if not isinstance(t, type) or t.__module__ == file.__name__)

    def all(self, shelf: str | None = None) -> Iterator[Any]:
        """Every thing, by file name; a family in its own order."""
        return (thing for module in self.modules(shelf) for thing in self.load(module))

    def names(self) -> list[str]:
        return [*(thing.name for thing in self.all()), *self.outside()]

    def outside(self) -> dict[str, Any]:
        """Entry points of other packages, by name; what they name is not imported."""
        if self.group is None:
            return {}
        from importlib.metadata import entry_points

        return {point.name: point for point in sorted(entry_points(group=self.group), key=lambda point: point.name)}

    def load_outside(self, name: str) -> Any:
        """What an entry point of that name leads to, or None where there is none."""
        point = next((point for said, point in self.outside().items() if key(said) == key(name)), None)
        if point is None:
            return None
        try:
            return point.load()
        except (ImportError, AttributeError, SyntaxError) as error:
            raise SpecError(
                f"the {self.noun} {name!r} of {self.group} leads to {point.value}, which cannot be loaded ({error})"
            ) from None

    def find(self, name: str) -> Any:
        """The thing of that name, whatever the case, or None. Only its own file is imported; ours come first."""
        modules, parts = self.modules(), key(name).split("_")
        for k in range(len(parts), 0, -1):
            file = "_".join(parts[:k])
            for module in (m for m in modules if m.rpartition(".")[2] == file):
                for thing in self.load(module):
                    if key(thing.name) == key(name):
                        return thing
        return self.load_outside(name)

    def get(self, name: str) -> Any:
        """The same; a wrong name names its nearest neighbour."""
        thing = self.find(name)
        if thing is None:
            raise SpecError(f"no {self.noun} is called {name!r}; {close_to(name, self.names())}")
        return thing
