"""A shelf: the formats of one kind of data, and the ordered rules that know them by shape without importing them.

A file that is put on a shelf is a format of it, by its FORMAT alone: where no rule speaks of it, it is imported and
asked last, through its own `sniff`. After it come the formats of other packages, by entry points of `fabula.formats`.
Formats of benchmarks stand in their folders; the index of benchmarks has a row for each, from which its rule is made.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from heapq import merge
from typing import Any

from fabula.core.errors import FabulaError, InputError
from fabula.core.plugins import Plugin, PluginError, check_object, list_plugins
from fabula.core.registry import BENCHMARKS, benchmark_index, key, load_benchmark
from fabula.documents.document import Document
from fabula.io.format import Format, HeadRule, Holds

GROUP = "fabula.formats"  # of entry points: name = "package.module:FORMAT"
READERS = ("read_stories", "read_queries", "read_rankings", "read_pictures", "read_responses")


@dataclass(frozen=True, slots=True)
class Rule:
    """How one format is known. `pattern` and `holds` say of which files it is asked, and are those of the format."""

    name: str
    knows: Callable[[Document], bool] | None = None  # None: only when it is named, or by where it is given
    pattern: str = "*.json"
    holds: Holds = "either"
    module: str = ""  # its file, where that is not called as the format is
    order: str = ""  # its place in lists, where its file does not give it
    certain: tuple[HeadRule, ...] = ()
    shapes: tuple[HeadRule, ...] = ()
    shared: HeadRule | None = None
    other_side: str = ""

    @property
    def file(self) -> str:
        return self.module or key(self.name)

    @property
    def place(self) -> str:
        return self.order or self.file.rpartition(".")[2]


def first_entry(head: Document) -> Mapping[str, Any]:
    return head.first_entry


def make_rule(row: Mapping[str, Any], first: Callable[[Document], Mapping[str, Any]]) -> Rule:
    """The rule of a format of a benchmark, from its row of the index."""
    shapes, certain = (tuple(HeadRule(**shape) for shape in row.get(name, ())) for name in ("known_by", "certain"))
    module, _, function = row.get("sniff", "").partition(":")

    def knows(head: Document) -> bool:
        if shapes and not any(shape.knows(head, first) for shape in shapes):
            return False
        return not module or bool(getattr(load_benchmark(module), function)(head))

    return Rule(
        name=row["name"],
        knows=knows if shapes or module else None,
        pattern=row["pattern"],
        holds=row["holds"],
        module=f"{BENCHMARKS}.{row['module']}",
        order=row["order"],
        certain=certain,
        shapes=shapes,
        shared=HeadRule(**row["shared"]) if "shared" in row else None,
        other_side=row.get("other_side", ""),
    )


class Shelf:
    """A package of formats. A rule's module is a file of it, or has a dotted name where the format lives elsewhere.

    `patterns` are the endings by which files of this shelf differ; whatever ends otherwise is taken for "*.json".
    """

    def __init__(
        self,
        package: str,
        rules: Sequence[Rule],
        patterns: Sequence[str] = ("*.jsonl",),
        readers: Sequence[str] = (),
        first: Callable[[Document], Mapping[str, Any]] = first_entry,
    ) -> None:
        self.package, self.own_rules, self.patterns = package, tuple(rules), tuple(patterns)
        self.readers = tuple(readers)  # a format of another package that has one of these is of this shelf
        self.first = first  # what shapes are held against

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """Ours and those of benchmarks, by the names of files."""
        rows = benchmark_index().FORMATS.get(self.package.rpartition(".")[2], ())
        indexed = (make_rule(row, self.first) for row in rows)
        return tuple(merge(self.own_rules, indexed, key=lambda rule: rule.place))

    def is_certain(self, head: Document) -> bool:
        """Whether a benchmark's format knows the file for one of this kind beyond doubt."""
        able = (rule for rule in self.rules if fits(rule, self.pattern_of(head), "either"))
        return any(shape.knows(head, self.first) for rule in able for shape in rule.certain)

    def find_shared(self, head: Document) -> Rule | None:
        """The rule of this shelf for records whose shape several kinds share, if the first is of this kind."""
        return next((r for r in self.rules if r.shared and r.shared.fits(head.first_entry)), None)

    def pattern_of(self, head: Document) -> str:
        name = head.filename.removesuffix(".gz")
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
        places = {file: file for file in here} | {rule.file: rule.place for rule in self.rules}
        return sorted(places, key=lambda file: places[file])

    def newcomers(self) -> Iterator[Format]:
        """The formats of files that no rule speaks of."""
        ruled = {rule.file for rule in self.rules}
        return (format for file in self.files() if file not in ruled for format in self.load(file))

    def formats(self) -> list[Format]:
        """All of them, by file name."""
        return [format for _, some in self.by_place() for format in some]

    def by_place(self) -> list[tuple[str, list[Format]]]:
        """The same, by the names of files."""
        ruled = [(rule.place, [self.by_rule(rule)]) for rule in self.rules]
        new = [(file, list(self.load(file))) for file in self.files() if file not in {r.file for r in self.rules}]
        return sorted([*ruled, *new], key=lambda pair: pair[0])

    def find(self, name: str) -> Format | None:
        """The format of this name, whatever its case and dashes; its file alone is imported."""
        for rule in self.rules:
            if key(rule.name) == key(name):
                return self.by_rule(rule)
        own = next((format for format in self.newcomers() if key(format.name) == key(name)), None)
        return own or self.find_outside(name)

    def find_outside(self, name: str) -> Format | None:
        """The format of another package that has this name and this shelf's reader; it alone is imported."""
        for plugin in list_plugins(GROUP) if self.readers else ():
            if key(plugin.name) == key(name) and self.holds(found := load_plugin(plugin)):
                return found
        return None

    def holds(self, format: Format) -> bool:
        return any(getattr(format, reader) is not None for reader in self.readers)

    def outside(self, warn: Callable[[str], None]) -> Iterator[tuple[Plugin, Format]]:
        """The formats of other packages; of those that cannot be used, a line."""
        for plugin in list_plugins(GROUP, warn) if self.readers else ():
            try:
                found = load_plugin(plugin)
            except PluginError as error:
                warn(str(error))
                continue
            if self.holds(found):
                yield plugin, found

    def sniff(self, head: Document, role: Holds = "either") -> Format | None:
        """The first format that knows the file as its own; with a role, of those that hold such data."""
        pattern = self.pattern_of(head)
        for rule in self.rules:
            if rule.knows and fits(rule, pattern, role) and rule.knows(head):
                return self.by_rule(rule)
        for format in self.newcomers():
            if format.sniff and format.guess and fits(format, pattern, role) and format.sniff(head):
                return format
        return self.sniff_outside(head, role)

    def sniff_outside(self, head: Document, role: Holds) -> Format | None:
        """What ours do not know, others may; two that both know it are refused. One that cannot be used stays out."""
        name = head.filename.removesuffix(".gz")
        known = [
            (plugin, format)
            for plugin, format in self.outside(lambda line: None)
            if format.sniff
            and format.guess
            and any(fnmatch(name, pattern) for pattern in format.pattern.split(", "))
            and (role == "either" or format.holds in (role, "either"))
            and knows(plugin, format.sniff, head)
        ]
        if len(known) > 1:
            names = " and ".join(f"{format.name!r} of {plugin.package}" for plugin, format in known)
            raise InputError(f"both {names} know this file", file=head, hint="name the format with --format")
        return known[0][1] if known else None


def knows(plugin: Plugin, sniff: Callable[[Document], bool], head: Document) -> bool:
    """A look of somebody else's at a file: what goes wrong in it is not the file's fault."""
    try:
        return bool(sniff(head))
    except FabulaError:
        raise
    except Exception as error:
        raise plugin.refuse(f"fails when it looks at {head} ({type(error).__name__}: {error})") from None


def load_plugin(plugin: Plugin) -> Format:
    def check(thing: object) -> str | None:
        if not isinstance(thing, Format):
            return check_object(thing, Format, "format")
        if key(thing.name) != key(plugin.name):
            return f"leads to a format that calls itself {thing.name!r}"
        return None if any(getattr(thing, r) for r in READERS) else f"leads to a format without {' or '.join(READERS)}"

    found: Format = plugin.load(check)
    return found


def fits(one: Rule | Format, pattern: str, role: Holds) -> bool:
    """Whether files so called, with data of this role, may be of the format."""
    return pattern in one.pattern.split(", ") and (role == "either" or one.holds in (role, "either"))


def list_known(some: Iterable[Format]) -> str:
    """What to say where no format knows a file: names alone, for their shapes would fill a page."""
    names = ", ".join(f.name for f in some) or "no format of such a file"
    return f"known: {names}; fabula list formats shows what each holds"
