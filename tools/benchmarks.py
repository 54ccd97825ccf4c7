"""Write src/fabula/benchmarks/index.py: what the folders of benchmarks hold, by name and by the shape of files.

    python -m tools.benchmarks            write it
    python -m tools.benchmarks --check    say whether it is current

A folder's public modules are imported, and what they offer is listed: PROTOCOL, or PROTOCOLS where a module has
several; READER and FORMAT likewise; EVENTS and ANSWERS, the prompts of a judge. Fields of a format that have no
default value are listed with it: how its files are known, without its module being opened.
"""

from __future__ import annotations

import argparse
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import fabula.benchmarks
from fabula.core.registry import benchmark_index, key, load_benchmark
from fabula.io.format import Format, HeadRule

FILE = Path(fabula.benchmarks.__file__).parent / "index.py"
HEAD = '''"""What the folders of benchmarks hold. `python -m tools.benchmarks` writes this file; do not edit it."""
# fmt: off
# ruff: noqa: E501

from typing import Any
'''


def list_modules() -> list[str]:
    """Every public module of a folder, dotted from benchmarks on."""
    folders = [m.name for m in pkgutil.iter_modules([str(FILE.parent)]) if m.ispkg and not m.name.startswith("_")]
    return [
        f"{folder}.{m.name}"
        for folder in folders
        for m in pkgutil.iter_modules([str(FILE.parent / folder)])
        if not m.name.startswith("_")
    ]


def list_things(module: ModuleType, attribute: str) -> tuple[Any, ...]:
    one = getattr(module, attribute, None)
    several: tuple[Any, ...] = getattr(module, f"{attribute}S", ())
    return several if one is None else (one,)


def find_things(attribute: str) -> Iterator[tuple[str, int, Any]]:
    """Module, place in it, thing."""
    for name in list_modules():
        if name.endswith(".protocol") == (attribute == "PROTOCOL"):
            for place, thing in enumerate(list_things(load_benchmark(name), attribute)):
                yield name, place, thing


def sort_names(attribute: str) -> list[tuple[str, str]]:
    """(name, module) by name; those that begin with their folder's name stay in the order of their module."""

    def order(row: tuple[str, int, Any]) -> tuple[str, int]:
        module, place, thing = row
        folder = module.partition(".")[0]
        own = key(thing.name).startswith(f"{folder}_")
        return (folder if own else key(thing.name)), place if own else -1

    return [(thing.name, module) for module, _, thing in sorted(find_things(attribute), key=order)]


def write_mapping(name: str, rows: list[tuple[str, str]]) -> str:
    twice = {row[0] for row in rows if [r[0] for r in rows].count(row[0]) > 1}
    if twice:
        sys.exit(f"two folders offer the name {', '.join(sorted(twice))}")
    return "\n".join(
        [f"{name}: dict[str, str] = {{", *(f'    "{thing}": "{module}",' for thing, module in rows), "}\n"]
    )


KINDS = {
    "stories": ("read_stories",),
    "moments": ("read_queries", "read_rankings"),
    "captions": ("read_captions", "read_items"),
    "questions": ("read_responses",),
    "regions": ("read_pictures",),
    "identity": ("read_sets", "read_labels", "read_grouping"),
}


def list_formats(kind: str) -> list[dict[str, Any]]:
    """A row for each format of a kind: by name, those of one module together, in its order."""
    found = [row for row in find_things("FORMAT") if any(getattr(row[2], reader) for reader in KINDS[kind])]
    first: dict[str, str] = {}
    for module, _, format in found:
        first.setdefault(module, format.order or key(format.name))
    found.sort(key=lambda row: (first[row[0]], row[1]))
    return [describe_format(format, module, first[module]) for module, _, format in found]


def describe_format(format: Format, module: str, order: str) -> dict[str, Any]:
    row: dict[str, Any] = {"name": format.name, "module": module, "order": order}
    row |= {"pattern": format.pattern, "holds": format.holds}
    if format.guess:
        row |= {name: list_shapes(getattr(format, name)) for name in ("known_by", "certain") if getattr(format, name)}
        if format.sniff is not None:
            home = format.sniff.__module__.removeprefix("fabula.benchmarks.")
            row["sniff"] = f"{home}:{format.sniff.__name__}"
    if format.shared is not None:
        row["shared"] = describe_shape(format.shared)
    if format.other_side:
        row["other_side"] = format.other_side
    return row


def list_shapes(shapes: Sequence[HeadRule]) -> tuple[dict[str, Any], ...]:
    return tuple(map(describe_shape, shapes))


def describe_shape(shape: HeadRule) -> dict[str, Any]:
    """What a shape asks for."""
    values = ((f, getattr(shape, f.name)) for f in fields(shape))
    return {f.name: value for f, value in values if value != f.default}


def list_prompts(attribute: str) -> list[tuple[str, str]]:
    """(name, module) of the prompts that modules called prompts.py have under this name."""
    found = ((name, load_benchmark(name)) for name in list_modules() if name.endswith(".prompts"))
    return sorted((getattr(module, attribute).name, name) for name, module in found if hasattr(module, attribute))


def write_formats() -> str:
    lines = ["FORMATS: dict[str, tuple[dict[str, Any], ...]] = {"]
    for kind in KINDS:
        if rows := list_formats(kind):
            lines += [f'    "{kind}": (', *(line for row in rows for line in write_row(row)), "    ),"]
    return "\n".join([*lines, "}\n"])


def write_row(row: dict[str, Any]) -> list[str]:
    pairs = [f"            {write_value(name)}: {write_value(value)}," for name, value in row.items()]
    return ["        {", *pairs, "        },"]


def write_value(value: Any) -> str:
    """As Python, with the quotes that the project's style has."""
    if isinstance(value, str):
        quoted = repr(value)
        return f'"{quoted[1:-1]}"' if '"' not in value and "'" not in value else quoted
    if isinstance(value, tuple):
        return f"({', '.join(map(write_value, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{write_value(k)}: {write_value(v)}' for k, v in value.items())}}}"
    return repr(value)


def make_index() -> str:
    found = {"READERS": sort_names("READER"), "EVENTS": list_prompts("EVENTS"), "ANSWERS": list_prompts("ANSWERS")}
    for section, rows in found.items():
        getattr(benchmark_index(), section).update(rows)  # metrics of protocols look their readers and prompts up
    found = {"PROTOCOLS": sort_names("PROTOCOL"), **found}
    return "\n".join([HEAD, *(write_mapping(*section) for section in found.items()), write_formats()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where it is not current")
    text = make_index()
    if not parser.parse_args().check:
        FILE.write_text(text, encoding="utf-8")
    elif FILE.read_text(encoding="utf-8") != text:
        sys.exit(f"{FILE} is not current: run python -m tools.benchmarks")


if __name__ == "__main__":
    main()
