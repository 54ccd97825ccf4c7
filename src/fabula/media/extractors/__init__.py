"""Adapters, one extractor a file, found by the file's name; those of other packages by an entry point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fabula.core import spec
from fabula.core.errors import SpecError
from fabula.core.registry import Room, close_to
from fabula.documents.fields import JsonDict
from fabula.media.base import Extractor

GROUP = "fabula.extractors"  # of entry points: name = "package.module:Class"


def check_extractor(thing: object) -> str | None:
    """What is wrong with an extractor of another package."""
    from fabula.core.plugins import check_class

    return check_class(thing, Extractor, "extractor")


room = Room(__name__, "Extractor", "extractor", group=GROUP, check=check_extractor)


def extractor(text: str, **params: Any) -> Extractor:
    """From its string: `efficientnet_lite0`, `efficientnet_lite0(fps=2)`, `onnx(size=112):model.onnx`."""
    built: Extractor = build_adapter(find_class, text, params)
    return built


def build_adapter(find: Callable[[str], Any], text: str, params: JsonDict) -> Any:
    """A spec with weights behind a colon, of the class that `find` knows by its name; an embedder is read so too."""
    call, colon, weights = text.partition(":")
    name, settings = spec.parse(call)
    if colon and not weights:
        raise SpecError(f"{text!r} names no file behind the colon")
    found = find(name)
    for field in params:
        if field not in found.defaults():
            raise SpecError(f"{found.name} has no parameter {field!r}; {close_to(field, list(found.defaults()))}")
    return found(**params | ({"weights": weights} if weights else {})).with_params(settings)


def find_class(name: str) -> type[Extractor]:
    """Ours by file name, others by entry point."""
    found: type[Extractor] = room.get(name)
    return found


def all_extractors() -> list[type[Extractor]]:
    """Ours, by name."""
    return [find_class(name) for name in dict.fromkeys(thing.name for thing in room.all())]
