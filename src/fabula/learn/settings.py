"""The settings of models and of their training, with the values of their papers: read off their files, without torch.

`fabula list settings` prints them: what `--set NAME=VALUE` changes, and what "the paper's" means in a help text.
"""

from __future__ import annotations

import ast
import importlib.util
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fabula.learn.models import room
from fabula.learn.options import Settings


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of the list."""

    model: str
    name: str  # a field of the model's Config, or a flag of the training loop
    kind: str
    default: str
    predicts: bool  # whether `predict --set` takes it
    about: str


def list_settings() -> Iterator[Setting]:
    """The settings of every model of ours, then those of the loop that its paper sets."""
    loop = {o.name: o for o in Settings.options()}
    for model in room.modules():
        predicts = read_constant(model, "inference")
        for name, (kind, default, about) in read_config(model).items():
            yield Setting(model, name, kind, default, name in predicts, about)
        for name, value in read_constant(model, "recipe").items():
            hint = loop[name].hint
            kind = hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")
            yield Setting(model, loop[name].flag, kind, str(value), False, "of the training loop, as in the paper")


def read_config(model: str) -> dict[str, tuple[str, str, str]]:
    """The fields of a model's Config: type, default, comment; those of its base Config come first."""
    tree, comments = parse_model(model)
    config = find_class(tree, "Config")
    fields: dict[str, tuple[str, str, str]] = {}
    for base in config.bases:  # xml.Config
        if isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name):
            fields |= read_config(base.value.id)
    for node in config.body:
        if (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and node.target.id != "small"
            and node.value
        ):
            meaning = " ".join(comments[n] for n in range(node.lineno, (node.end_lineno or 0) + 1) if n in comments)
            fields[node.target.id] = ast.unparse(node.annotation), ast.unparse(node.value), meaning
    return fields


def read_constant(model: str, name: str) -> Any:
    """A constant of a model's class; one that is another model's is read there."""
    for node in find_class(parse_model(model)[0], "Model").body:
        target = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(node, ast.AnnAssign) and isinstance(target, ast.Name) and target.id == name and node.value:
            value = node.value
            if isinstance(value, ast.Attribute):  # xml.Model.recipe
                return read_constant(ast.unparse(value).partition(".")[0], name)
            return ast.literal_eval(value)
    raise LookupError(f"the model {model} has no {name}")


@cache
def parse_model(model: str) -> tuple[ast.Module, dict[int, str]]:
    """A model's file, and its comments by line."""
    spec = importlib.util.find_spec(f"{room.package}.{model}")
    assert spec is not None and spec.origin is not None
    source = Path(spec.origin).read_text(encoding="utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}
    return ast.parse(source), comments


def find_class(tree: ast.Module, name: str) -> ast.ClassDef:
    return next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
