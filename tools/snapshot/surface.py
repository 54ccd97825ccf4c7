"""What people rely on: commands and options with defaults, public names with signatures, groups of entry points."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.snapshot.take import Parts, Run

PUBLIC = (
    "fabula",
    "fabula.match",
    "fabula.text",
    "fabula.metrics",
    "fabula.protocols",
    "fabula.learn",
    "fabula.learn.matchers",
)
GROUP = re.compile(r"[\"'](fabula\.[a-z]+)[\"']")


def runs() -> list[Run]:
    return [
        *(Run(f"surface: command {name}", call=lambda c=command: describe_command(c)) for name, command in commands()),
        *(Run(f"surface: names of {module}", call=lambda m=module: describe_names(m)) for module in PUBLIC),
        Run("surface: entry points", call=lambda: {"groups": "\n".join(groups())}),
    ]


def commands() -> Iterator[tuple[str, Any]]:
    import click

    from fabula.verbs.command_line import fabula

    def walk(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        yield " ".join(path) or "fabula", command
        if isinstance(command, click.Group):
            ctx = click.Context(command)
            for name in command.list_commands(ctx):
                yield from walk(command.get_command(ctx, name), (*path, name))

    yield from walk(fabula, ())


def describe_command(command: Any) -> Parts:
    """A line an option: its names, type, default. Help texts are words."""
    import click

    lines, words = [], [command.help or ""]
    for p in command.params:
        default = p.default if isinstance(p.default, str | int | float | bool | tuple | Path | type(None)) else "…"
        kind = getattr(p.type, "choices", None) or p.type.name
        bounds = {n: getattr(p.type, n) for n in ("min", "max") if getattr(p.type, n, None) is not None}
        names = [*p.opts, *p.secondary_opts] if isinstance(p, click.Option) else [p.name.upper()]
        is_flag = getattr(p, "is_flag", False)
        fact = [
            names,
            str(kind),
            bounds,
            str(default),
            p.required,
            p.multiple,
            p.nargs,
            is_flag,
            getattr(p, "hidden", False),
        ]
        lines.append(json.dumps(fact, default=str))
        words.append(f"{names[0]}: {getattr(p, 'help', None) or ''}")
    if isinstance(command, click.Group):
        lines += command.list_commands(click.Context(command))
    return {"options": "\n".join(lines), "words": "\n".join(words)}


def describe_names(module: str) -> Parts:
    found = importlib.import_module(module)
    lines = []
    for name in sorted(getattr(found, "__all__", None) or [n for n in vars(found) if not n.startswith("_")]):
        try:
            lines.append(f"{name}{inspect.signature(getattr(found, name))}")
        except (TypeError, ValueError, AttributeError):
            lines.append(name)
    return {"names": re.sub(r" at 0x[0-9a-f]+", "", "\n".join(lines))}


def groups() -> list[str]:
    import fabula

    source = Path(fabula.__file__).parent
    text = "\n".join(path.read_text(encoding="utf-8") for path in source.rglob("*.py"))
    return sorted(
        {name for name in GROUP.findall(text) if re.search(rf"(?:group=|GROUP = )[\"']{re.escape(name)}", text)}
    )
