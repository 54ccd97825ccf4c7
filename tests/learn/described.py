"""Values, and errors of wrong calls, as text: what a stored file of many small answers is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fabula.core.errors import FabulaError
from fabula.core.notes import Notes
from fabula.core.options import Options


def describe(value: Any) -> Any:
    """Arrays and tensors with their shape and kind, data classes by field; the rest as JSON takes it."""
    if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "tolist"):
        return {str(value.dtype): list(value.shape), "is": round_numbers(value.tolist())}
    if isinstance(value, np.ndarray):
        return {str(value.dtype): list(value.shape), "is": round_numbers(value.tolist())}
    if isinstance(value, Path):
        return "a path"
    if isinstance(value, Options):
        return "accepted"  # another option may stand beside these
    if isinstance(value, Notes):
        return value.lines()
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: describe(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): describe(part) for name, part in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(describe, value))
    if isinstance(value, list | tuple) or hasattr(value, "__next__"):
        return [describe(part) for part in value]
    if isinstance(value, range | slice):
        return str(value)
    if isinstance(value, np.generic):
        return describe(value.item())
    return round_numbers(value) if isinstance(value, str | int | float | bool | None) else type(value).__name__


def round_numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [round_numbers(part) for part in value]
    return (float(f"{value:.6g}") + 0.0) if isinstance(value, float) else value


def attempt(call: Callable[[], Any], *folders: Path) -> Any:
    """What a call gives, or the line that it costs; names of folders are hidden."""
    try:
        found = describe(call())
    except FabulaError as error:
        found = f"{type(error).__name__}: {error}"
    return hide(found, folders)


def hide(value: Any, folders: tuple[Path, ...]) -> Any:
    if isinstance(value, list):
        return [hide(part, folders) for part in value]
    if isinstance(value, dict):
        return {name: hide(part, folders) for name, part in value.items()}
    if isinstance(value, str):
        for folder in folders:
            value = value.replace(str(folder), "…")
    return value
