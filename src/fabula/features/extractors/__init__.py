"""Adapters, one extractor a file, found by the file's name; those of other packages by an entry point."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from fabula.core import spec
from fabula.core.errors import SpecError
from fabula.core.registry import Room, close_to, key
from fabula.features.base import Extractor

GROUP = "fabula.extractors"  # of entry points: name = "package.module:Class"

room = Room(__name__, "Extractor", "extractor")


def extractor(text: str, **params: Any) -> Extractor:
    """From its string: `efficientnet_lite0`, `efficientnet_lite0(fps=2)`, `onnx(size=112):model.onnx`."""
    told, colon, weights = text.partition(":")
    name, given = spec.parse(told)
    if colon and not weights:
        raise SpecError(f"{text!r} names no file behind the colon")
    found = find_class(name)
    for field in params:
        if field not in found.defaults():
            raise SpecError(f"{found.name} has no parameter {field!r}; {close_to(field, list(found.defaults()))}")
    if weights:
        params["weights"] = weights
    return found(**params).with_params(given)


def find_class(name: str) -> type[Extractor]:
    """Ours by file name, others by entry point."""
    found: type[Extractor] | None = room.find(name)
    if found is not None:
        return found
    others = {key(point.name): point for point in entry_points(group=GROUP)}
    if key(name) not in others:
        raise SpecError(f"no extractor is called {name!r}; {close_to(name, [*room.names(), *sorted(others)])}")
    try:
        other: type[Extractor] = others[key(name)].load()
    except (ImportError, AttributeError) as error:
        raise SpecError(f"the extractor {name!r} of another package cannot be loaded ({error})") from None
    return other


def all_extractors() -> list[type[Extractor]]:
    """Ours and others', by name."""
    names = [*room.names(), *(point.name for point in entry_points(group=GROUP))]
    return [find_class(name) for name in dict.fromkeys(names)]
