"""A shelf: the formats of one kind of data, and the ordered rules that know them by shape without importing them.

The index of benchmarks has a row for each format, ours and theirs, from which its rule is made. A file that is put on a
shelf is a format of it all the same: where the index does not list it, it is imported and asked last, through its own
`sniff`. After it come the formats of other packages, by entry points of `fabula.formats`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from types import ModuleType
from typing import Any

from fabula.core.errors import FabulaError, InputError
from fabula.core.plugins import Plugin, PluginError, check_object, list_plugins
from fabula.core.registry import benchmark_index, key
from fabula.documents.document import Document
from fabula.io.format import Format, HeadRule, Holds

GROUP = "fabula.formats"  # of entry points: name = "package.module:FORMAT"
READERS = ("read_stories", "read_queries", "read_rankings", "read_pictures", "read_responses")


@dataclass(frozen=True, slots=True)
class Rule:
    """How one format is known. `pattern` and `holds` say of which files it is asked, and are those of the format."""

    name: str
    module: str  # of its file, dotted from fabula on
    place: str  # in lists
    pattern: str
    holds: Holds
    shapes: tuple[HeadRule, ...]
    certain: tuple[HeadRule, ...]
    sniff: str  # a function that is asked besides, "module:name"
    shared: HeadRule | None
    free_text: HeadRule | None
    other_side: str

    @property
    def guessed(self) -> bool:
        """False: it is known only when it is named, or by where it is given."""
        return bool(self.shapes or self.sniff)


def make_rule(row: Mapping[str, Any]) -> Rule:
    """From a row of the index."""
    shapes, certain = (tuple(HeadRule(**shape) for shape in row.get(name, ())) for name in ("known_by", "certain"))
    return Rule(
        name=row["name"],
        module=row["module"],
        place=row["order"],
        pattern=row["pattern"],
        holds=row["holds"],
        shapes=shapes,
        certain=certain,
        sniff=row.get("sniff", ""),
        shared=HeadRule(**row["shared"]) if "shared" in row else None,
        free_text=HeadRule(**row["free_text"]) if "free_text" in row else None,
        other_side=row.get("other_side", ""),
    )


def first_entry(head: Document) -> Mapping[str, Any]:
    return head.first_entry


def story_entry(head: Document) -> Mapping[str, Any]:
    """Of a list its first element, else the document; of lines the first."""
    root = head.sample
    first = root[0] if isinstance(root, list) and root else root
    return first if isinstance(first, dict) else {}


def root_keys(head: Document) -> Mapping[str, Any]:
    return dict.fromkeys(head.root[1])


class Shelf:
    """The formats of one kind: of the package fabula.io.KIND, and of benchmarks.

    `patterns` are the endings by which files of this shelf differ; whatever ends otherwise is taken for "*.json".
    """

    def __init__(
        self,
        kind: str,
        patterns: Sequence[str] = ("*.jsonl",),
        readers: Sequence[str] = (),
        first: Callable[[Document], Mapping[str, Any]] = first_entry,
    ) -> None:
        self.kind, self.package, self.patterns = kind, f"fabula.io.{kind}", tuple(patterns)
        self.readers = tuple(readers)  # a format of another package that has one of these is of this shelf
        self.first = first  # what shapes are held against

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """By the names of files."""
        return tuple(map(make_rule, benchmark_index().FORMATS[self.kind]))

    def knows(self, rule: Rule, head: Document) -> bool:
        if rule.shapes and not any(shape.knows(head, self.first) for shape in rule.shapes):
            return False
        module, _, function = rule.sniff.partition(":")
        return not module or bool(getattr(import_ours(module), function)(head))

    def find_both(self, entry: Mapping[str, Any]) -> Rule | None:
        """The rule of lines that hold both sides, by their first object."""
        able = (rule for rule in self.rules if rule.holds == "either" and "*.jsonl" in rule.pattern)
        return next((rule for rule in able if any(shape.fits(entry) for shape in rule.shapes)), None)

    def is_certain(self, head: Document) -> bool:
        """Whether a benchmark's format knows the file for one of this kind beyond doubt."""
        able = (rule for rule in self.rules if fits(rule, self.pattern_of(head), "either"))
        return any(shape.knows(head, self.first) for rule in able for shape in rule.certain)

    def find_sides(self, name: str) -> dict[str, str]:
        """The formats of both sides, where files of this format hold both; else nothing."""
        rule = next((r for r in self.rules if r.other_side and key(r.name) == key(name)), None)
        if rule is None:
            return {}
        other = "predictions" if rule.holds == "references" else "references"
        return {rule.holds: rule.name, other: rule.other_side}

    def find_record_format(self, document: Document) -> str:
        """The format of a file whose records are like those of other kinds, by its first record; else ""."""
        if document.ending not in (".json", ".jsonl") or not document.is_lasting:
            return ""
        rule = self.find_shared(document)
        return "" if rule is None else rule.name

    def find_shared(self, head: Document) -> Rule | None:
        """The rule of this shelf for records whose shape several kinds share, if the first is of this kind."""
        return next((r for r in self.rules if r.shared and r.shared.fits(head.first_entry)), None)

    def pattern_of(self, head: Document) -> str:
        name = head.filename.removesuffix(".gz").lower() if head.is_subtitles else head.filename.removesuffix(".gz")
        return next((pattern for pattern in self.patterns if name.endswith(pattern[1:])), "*.json")

    def load(self, module: str) -> tuple[Format, ...]:
        """The formats of a module; none where it is a helper of the shelf."""
        found = import_ours(module)
        one: Format | None = getattr(found, "FORMAT", None)
        several: tuple[Format, ...] = getattr(found, "FORMATS", ())
        return several if one is None else (one,)

    def by_rule(self, rule: Rule) -> Format:
        (found,) = (f for f in self.load(rule.module) if f.name == rule.name)
        return found

    def new_modules(self) -> list[str]:
        """Files of the package that the index does not list, by name."""
        path, listed = importlib.import_module(self.package).__path__, {rule.module for rule in self.rules}
        here = sorted(m.name for m in pkgutil.iter_modules(path) if not m.name.startswith("_"))
        return [module for name in here if (module := f"io.{self.kind}.{name}") not in listed]

    def newcomers(self) -> Iterator[Format]:
        return (format for module in self.new_modules() for format in self.load(module))

    def formats(self) -> list[Format]:
        """All of them, by file name."""
        return [format for _, format in self.by_place()]

    def by_place(self) -> list[tuple[str, Format]]:
        """The same, with the names of files."""
        ruled = [(rule.place, self.by_rule(rule)) for rule in self.rules]
        new = [(m.rpartition(".")[2], format) for m in self.new_modules() for format in self.load(m)]
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
            if rule.guessed and fits(rule, pattern, role) and self.knows(rule, head):
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


def import_ours(module: str) -> ModuleType:
    return importlib.import_module(f"fabula.{module}")


TABLES = ("*.jsonl", "*.xlsx", "*.tsv", "*.csv")
SHELVES = {
    shelf.kind: shelf
    for shelf in (
        Shelf("stories", (*TABLES, "*.srt", "*.vtt"), ("read_stories",), story_entry),
        Shelf("moments", (*TABLES, "*.txt"), ("read_queries", "read_rankings")),
        Shelf("regions", readers=("read_pictures",), first=root_keys),
        Shelf("captions"),
        Shelf("identity", ("*.jsonl", "*.csv")),
        Shelf("questions", TABLES, ("read_responses",)),
    )
}
