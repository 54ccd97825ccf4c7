"""Settings from text and files: `--set name=value`, a run's config.json, a .toml; a wrong one is an error."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from fabula.core.errors import InputError, SpecError, shown
from fabula.core.registry import close_to
from fabula.documents.fields import JsonObject
from fabula.documents.files import check_path, load_json
from fabula.documents.toml import read_toml

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LARGEST = 1 << 20  # of any whole number in a config: widths, layers, frames
LAYERS = 256  # of anything a config counts in layers or levels

C = TypeVar("C", bound="DataclassInstance")


def configure(default: C, changes: JsonObject) -> C:
    """A dataclass with some values changed; text is read as the field's type, an unknown name names its neighbour."""
    known = {f.name: getattr(default, f.name) for f in fields(default)}
    kinds = get_type_hints(type(default))
    values = {}
    for name, value in changes.items():
        if name not in known:
            raise SpecError(f"no setting is called {name!r}; {close_to(name, list(known))}")
        if isinstance(value, str) and not fits(value, kinds[name]):
            value = parse_setting(value, kinds[name], name, known[name])
        if isinstance(value, list):
            value = tuple(value)
        if not fits(value, kinds[name], 1 << 62):
            raise SpecError(f"{name} is {shown(value)}; {expected(kinds[name], known[name])}")
        values[name] = float(value) if is_float(kinds[name]) and isinstance(value, int) else value
    return replace(default, **values)


def configure_inference(model: Any, changes: JsonObject) -> None:
    """Change settings of a trained model that only affect predictions; refuse any other and list those that work.

    A setting that the model has already is no change.
    """
    changes = {name: value for name, value in changes.items() if not has_value(model.config, name, value)}
    if not changes:
        return
    able: tuple[str, ...] | None = getattr(model, "inference", None)
    known = {f.name for f in fields(model.config)}
    for name, value in changes.items():
        if able is None or name in able:
            continue
        there = f"--set takes {', '.join(able)}" if able else "it has no setting that predicting can change"
        if name not in known:
            raise SpecError(f"no setting of the model {model.name} is called {name!r}; {there}")
        train = f"train a run with --set {name}={value}"
        raise SpecError(f"{name} is fixed once the model {model.name} is trained; {there}; or {train}")
    model.config = configure(model.config, changes)


def has_value(config: C, name: str, value: object) -> bool:
    """Whether this setting of the config is so already."""
    try:
        return configure(config, {name: value}) == config
    except SpecError:
        return False


def parse_setting(text: str, kind: Any, name: str, like: object) -> Any:
    """`--set dropout=0.2`: text as a number, a truth value or none."""
    if text.lower() in ("none", "null") and fits(None, kind):
        return None
    for one in get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,):
        try:
            if one is bool:
                return {"true": True, "false": False, "1": True, "0": False}[text.lower()]
            if get_origin(one) is tuple:
                like_one = get_args(one)[0]
                return tuple(like_one(part.strip()) for part in text.split(",") if part.strip())
            if one in (int, float):
                return one(text)
        except (ValueError, KeyError, TypeError):
            continue
    raise SpecError(f"{name} is {text!r}; {expected(kind, like)}")


def expected(kind: object, like: object) -> str:
    for one in get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,):
        if get_origin(one) is Literal:
            return f"it may be {', '.join(map(str, get_args(one)))}"
    return f"it should look like {shown(like)}"


def is_float(kind: object) -> bool:
    return kind is float or (get_origin(kind) in (Union, UnionType) and float in get_args(kind))


def fits(value: object, kind: Any, most: int = LARGEST) -> bool:
    """Whether a value of JSON is one of this type; a whole number at most so large."""
    if kind is Any:
        return True
    if get_origin(kind) is Literal:
        return any(value == one and type(value) is type(one) for one in get_args(kind))
    if get_origin(kind) in (Union, UnionType):
        return any(fits(value, one, most) for one in get_args(kind))
    if get_origin(kind) is tuple:
        parts = get_args(kind)
        if not isinstance(value, list | tuple) or (... not in parts and len(value) != len(parts)):
            return False
        return all(fits(v, parts[0], most) for v in value)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1e30
    return value is None if kind is type(None) else kind in (str, bool) and isinstance(value, kind)


# ---------------------------------------------------------------------------------------------------------------------
# Files


@dataclass(frozen=True)
class Recipe:
    """The content of a config file: the model, and values of its config, of the loop and of the task's options."""

    model: str | None = None
    preset: str | None = None
    config: JsonObject = field(default_factory=dict)
    settings: JsonObject = field(default_factory=dict)
    options: JsonObject = field(default_factory=dict)


TABLES = ("config", "settings", "options")


def read_recipe(path: Path | None, task: str) -> Recipe:
    """Read a run's config.json, or a .toml. The data paths of a run's file are ignored: the command names them."""
    if path is None:
        return Recipe()
    path = check_path(path)
    if path.is_dir():
        path = path / "config.json"
    document = read_toml(path) if path.suffix == ".toml" else load_json(path)
    hint = "it is a run's config.json, or a .toml with the tables [config], [settings], [options]"
    if not isinstance(document, dict):
        raise InputError("not a config", file=path, hint=hint)
    known = ("task", "model", "preset", *TABLES)
    of_a_run = path.suffix != ".toml" and isinstance(document.get("settings"), dict) and "model" in document
    for name in document:
        if name not in known and not of_a_run:
            raise InputError(f"an unknown key {shown(name)}; {close_to(name, list(known))}", file=path, hint=hint)
    for name in ("task", "model", "preset"):
        if not isinstance(document.get(name, ""), str):
            raise InputError(f"{name} is {shown(document[name])}; expected a name", file=path, hint=hint)
    for name in TABLES:
        if not isinstance(document.get(name, {}), dict):
            raise InputError(f"{name} is {shown(document[name])}; expected a table", file=path, hint=hint)
    if document.get("task", task) != task:
        raise InputError(f"of the task {shown(document['task'])}, not {task!r}", file=path, hint="name another file")
    return Recipe(**{name: document[name] for name in known[1:] if name in document})
