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
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import merge
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fabula.core.errors import SpecError

if TYPE_CHECKING:
    from fabula.core.plugins import Check, Plugin


def close_to(name: str, names: list[str]) -> str:
    """The nearest name; of a family (`vdc`, of which there is vdc-aurora …) its members; or the whole list."""
    import difflib

    family = [n for n in names if key(n).startswith(f"{key(name)}_")]
    if len(family) > 1:
        return f"there are: {', '.join(family)}"
    near = difflib.get_close_matches(name.lower(), [n.lower() for n in names], n=1)
    near = [n for n in names if near and n.lower() == near[0]]
    return f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(names)}"


def key(name: str) -> str:
    """Names are the same whatever their case and dashes: soda-2021, SODA_2021."""
    return name.strip().lower().replace("-", "_")


Thing = Any  # what a package registers: a metric class, a protocol, a reader
BASE = "base"  # what the things of a room or shelf have in common


class Room:
    """The public modules of a package, and of its shelves, that offer something under the room's attribute name."""

    def __init__(
        self,
        package: str,
        attribute: str,
        noun: str,
        shelves: Sequence[str] = (),
        group: str | None = None,
        check: Check | None = None,
    ) -> None:
        self.package, self.attribute, self.noun, self.shelves = package, attribute, noun, tuple(shelves)
        self.plural, self.group, self.check = f"{attribute.upper()}S", group, check

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

    def load(self, module: str) -> tuple[Thing, ...]:
        """What a module offers; nothing where it is a helper of the room."""
        file = importlib.import_module(f"{self.package}.{module}")
        things = getattr(file, self.plural, None)
        if things is None:
            one = getattr(file, self.attribute, None)
            things = () if one is None else (one,)
        return tuple(t for t in things if not isinstance(t, type) or t.__module__ == file.__name__)

    def all(self, shelf: str | None = None) -> Iterator[Thing]:
        """Every thing, by file name; a family in its own order."""
        return (thing for module in self.modules(shelf) for thing in self.load(module))

    def names(self) -> list[str]:
        own = [thing.name for thing in self.all()]
        return [*own, *(name for name in self.outside() if key(name) not in set(map(key, own)))]

    # ── of other packages ───────────────────────────────────────────────────────────────────────────────────────────

    def plugins(self, warn: Callable[[str], None] = lambda line: None) -> list[Plugin]:
        """Entry points of other packages; what they name is not imported."""
        if self.group is None:
            return []
        from fabula.core.plugins import list_plugins

        return list_plugins(self.group, warn)

    def outside(self) -> dict[str, Plugin]:
        """The same, by name."""
        return {plugin.name: plugin for plugin in self.plugins()}

    def find_outside(self, name: str) -> Thing:
        """What another package offers under this name, or None. Two packages that offer the same name are refused."""
        some = [plugin for plugin in self.plugins() if key(plugin.name) == key(name)]
        if len(some) > 1:
            both = " and ".join(plugin.package for plugin in some)
            raise SpecError(f"the {self.noun} {name!r} is offered by {both}; uninstall one of them")
        return self.load_plugin(some[0]) if some else None

    def load_plugin(self, plugin: Plugin) -> Thing:
        thing = plugin.load(self.check)
        said = getattr(thing, "name", plugin.name)
        if key(str(said)) != key(plugin.name):
            raise plugin.refuse(f"leads to a {self.noun} that calls itself {said!r}")
        return thing

    def others(self, warn: Callable[[str], None]) -> Iterator[tuple[Plugin, Thing]]:
        """What other packages offer, each checked; of what cannot be used, a line."""
        seen: dict[str, Plugin] = {}
        for plugin in self.plugins(warn):
            if self.find_own(plugin.name) is not None:
                warn(f"{plugin.package}: its {self.noun} {plugin.name!r} is skipped: Fabula has one of that name")
            elif key(plugin.name) in seen:
                first = seen[key(plugin.name)].package
                warn(f"{plugin.package}: its {self.noun} {plugin.name!r} is skipped: {first} has one of that name")
            else:
                seen[key(plugin.name)] = plugin
                try:
                    yield plugin, self.load_plugin(plugin)
                except SpecError as error:
                    warn(str(error))

    # ── by name ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def find_own(self, name: str) -> Thing:
        """The thing of ours of that name, whatever the case, or None. Only its own file is imported."""
        modules, parts = self.modules(), key(name).split("_")
        for k in range(len(parts), 0, -1):
            file = "_".join(parts[:k])
            for module in (m for m in modules if m.rpartition(".")[2] == file):
                for thing in self.load(module):
                    if key(thing.name) == key(name):
                        return thing
        return None

    def find(self, name: str) -> Thing:
        """Ours first; where there is none, other packages are looked through."""
        own = self.find_own(name)
        return self.find_outside(name) if own is None else own

    def get(self, name: str) -> Thing:
        """The same; a wrong name names its nearest neighbour."""
        thing = self.find(name)
        if thing is None:
            raise SpecError(f"no {self.noun} is called {name!r}; {close_to(name, self.names())}")
        return thing


# ── things that a generated index names ─────────────────────────────────────────────────────────────────────────────

BENCHMARKS = "fabula.benchmarks"  # one folder per source; no package imports a benchmark by its name


def load_benchmark(module: str) -> ModuleType:
    """A module of a benchmark's folder, as the index names it: `coco.protocol`."""
    return importlib.import_module(f"{BENCHMARKS}.{module}")


def benchmark_index() -> ModuleType:
    """What the folders of benchmarks hold: fabula/benchmarks/index.py, which tools/benchmarks.py writes."""
    return load_benchmark("index")


class IndexedRoom(Room):
    """The files of a package, if it has any, and what the index of benchmarks lists: {name: module}, in that order."""

    def __init__(self, section: str, *rest: Thing, files: str = "", **named: Thing) -> None:
        super().__init__(files, *rest, **named)
        self.section = section

    @property
    def index(self) -> Mapping[str, str]:
        listed: Mapping[str, str] = getattr(benchmark_index(), self.section)
        return listed

    def modules(self, shelf: str | None = None) -> list[str]:
        return super().modules(shelf) if self.package else []

    def load_indexed(self, name: str) -> Thing:
        file = load_benchmark(self.index[name])
        things = getattr(file, self.plural, None) or (getattr(file, self.attribute),)
        (found,) = (thing for thing in things if thing.name == name)
        return found

    def all(self, shelf: str | None = None) -> Iterator[Thing]:
        return merge(super().all(shelf), map(self.load_indexed, self.index), key=lambda thing: key(thing.name))

    def names(self) -> list[str]:
        own = list(merge((thing.name for thing in super().all()), self.index, key=key))
        return [*own, *(name for name in self.outside() if key(name) not in set(map(key, own)))]

    def find_own(self, name: str) -> Thing:
        found = next((listed for listed in self.index if key(listed) == key(name)), None)
        if found is not None:
            return self.load_indexed(found)
        return super().find_own(name) if self.package else None
