"""A shelf: the formats of one kind of data, and the ordered rules that know them by shape without importing them.

A file that is put on a shelf is a format of it, by its FORMAT alone: where no rule speaks of it, it is imported and
asked last, through its own `sniff`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabula.core.registry import key
from fabula.io.format import Format, Holds
from fabula.io.head import Head


@dataclass(frozen=True, slots=True)
class Rule:
    """How one format is known. `pattern` and `holds` say of which files it is asked, and are those of the format."""

    name: str
    knows: Callable[[Head], bool] | None = None  # None: only when it is named, or by where it is given
    pattern: str = "*.json"
    holds: Holds = "either"
    module: str = ""  # its file, where that is not called as the format is

    @property
    def file(self) -> str:
        return self.module or key(self.name)


class Shelf:
    """A package of formats. A rule's module is a file of it, or has a dotted name where the format lives elsewhere.

    `patterns` are the endings by which files of this shelf differ; whatever ends otherwise is taken for "*.json".
    """

    def __init__(self, package: str, rules: Sequence[Rule], patterns: Sequence[str] = ("*.jsonl",)) -> None:
        self.package, self.rules, self.patterns = package, tuple(rules), tuple(patterns)

    def pattern_of(self, path: Path) -> str:
        name = path.name.removesuffix(".gz")
        return next((pattern for pattern in self.patterns if name.endswith(pattern[1:])), "*.json")

    def load(self, file: str) -> tuple[Format, ...]:
        """The formats of a file; none where it is a helper of the shelf."""
        module = importlib.import_module(file if "." in file else f"{self.package}.{file}")
        one: Format | None = getattr(module, "FORMAT", None)
        several: tuple[Format, ...] = getattr(module, "FORMATS", ())
        return several if one is None else (one,)

    def by_rule(self, rule: Rule) -> Format:
        (found,) = (f for f in self.load(rule.file) if f.name == rule.name)
        return found

    def files(self) -> list[str]:
        """Every file that may hold a format, by name."""
        path = importlib.import_module(self.package).__path__
        here = {m.name for m in pkgutil.iter_modules(path) if not m.name.startswith("_")}
        return sorted(here | {rule.file for rule in self.rules}, key=lambda file: file.rpartition(".")[2])

    def newcomers(self) -> Iterator[Format]:
        """The formats of files that no rule speaks of."""
        ruled = {rule.file for rule in self.rules}
        return (format for file in self.files() if file not in ruled for format in self.load(file))

    def formats(self) -> list[Format]:
        """All of them, by file name."""
        return [format for file in self.files() for format in self.load(file)]

    def find(self, name: str) -> Format | None:
        """The format of this name, whatever its case and dashes; its file alone is imported."""
        for rule in self.rules:
            if key(rule.name) == key(name):
                return self.by_rule(rule)
        return next((format for format in self.newcomers() if key(format.name) == key(name)), None)

    def sniff(self, head: Head, role: Holds = "either") -> Format | None:
        """The first format that knows the file as its own; with a role, of those that hold such data."""
        pattern = self.pattern_of(head.path)
        for rule in self.rules:
            if rule.knows and fits(rule, pattern, role) and rule.knows(head):
                return self.by_rule(rule)
        for format in self.newcomers():
            if format.sniff and format.guess and fits(format, pattern, role) and format.sniff(head):
                return format
        return None


def fits(one: Rule | Format, pattern: str, role: Holds) -> bool:
    """Whether files so called, with data of this role, may be of the format."""
    return pattern in one.pattern.split(", ") and (role == "either" or one.holds in (role, "either"))


def list_known(some: Iterable[Format]) -> str:
    """What to say where no format knows a file: names alone, for their shapes would fill a page."""
    names = ", ".join(f.name for f in some) or "no format of such a file"
    return f"known: {names}; fabula list formats shows what each holds"
