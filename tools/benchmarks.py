"""Write src/fabula/benchmarks/index.py: what the folders of benchmarks hold, by name and by the shape of files.

    python -m tools.benchmarks            write it
    python -m tools.benchmarks --check    say whether it is current

A folder's public modules are imported, and what they offer is listed: PROTOCOL, or PROTOCOLS where a module has
several; FORMAT, READER and EXAMINATION likewise.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import fabula.benchmarks
from fabula.core.registry import key

FILE = Path(fabula.benchmarks.__file__).parent / "index.py"
HEAD = '"""What the folders of benchmarks hold. `python -m tools.benchmarks` writes this file; do not edit it."""\n'


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
        for place, thing in enumerate(list_things(importlib.import_module(f"fabula.benchmarks.{name}"), attribute)):
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


def make_index() -> str:
    parts = [HEAD, write_mapping("PROTOCOLS", sort_names("PROTOCOL"))]
    return "\n".join(parts)


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
