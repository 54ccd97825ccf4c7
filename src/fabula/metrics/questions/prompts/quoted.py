"""Where the messages stand in functions of published programs that do more than build them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence


def called(*names: str) -> Callable[[ast.FunctionDef], Sequence[ast.expr]]:
    """What the calls of these names are given, in the order of the names: `system(…)`, `user(…)`."""

    def pick(node: ast.FunctionDef) -> list[ast.expr]:
        found = {
            part.func.id: part.args[0]
            for part in ast.walk(node)
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in names and part.args
        }
        return [found[name] for name in names] if len(found) == len(names) else []

    return pick


def keyed(node: ast.FunctionDef) -> list[ast.expr]:
    """The `content` of the one message that a function sends."""
    return [
        value
        for part in ast.walk(node)
        if isinstance(part, ast.Dict)
        for key, value in zip(part.keys, part.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == "content"
    ][:1]


def assigned(name: str) -> Callable[[ast.FunctionDef], Sequence[ast.expr]]:
    """What is last assigned to this name."""

    def pick(node: ast.FunctionDef) -> list[ast.expr]:
        found = [
            part.value
            for part in ast.walk(node)
            if isinstance(part, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in part.targets)
        ]
        return found[-1:]

    return pick
