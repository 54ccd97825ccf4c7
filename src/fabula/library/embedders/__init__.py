"""Embedders, one a file, found by the file's name; those of other packages by an entry point of `fabula.embedders`.

`offline`   `openclip:clip.safetensors`   `onnx-clip:FOLDER`   `colours`
"""

from __future__ import annotations

from typing import Any

from fabula.core.errors import InputError, SpecError, shown
from fabula.core.registry import Room
from fabula.documents.fields import JsonDict, JsonObject
from fabula.library.embedders.base import TOLD, Embedder
from fabula.media.extractors import build_adapter

GROUP = "fabula.embedders"  # of entry points: name = "package.module:Class"


def check_embedder(thing: object) -> str | None:
    """What is wrong with an embedder of another package."""
    from fabula.core.plugins import check_class

    return check_class(thing, Embedder, "embedder")


room = Room(__name__, "Embedder", "embedder", group=GROUP, check=check_embedder)


def embedder(text: str, **params: Any) -> Embedder:
    """From its string: `offline`, `colours`, `openclip(act=quickgelu):clip.safetensors`."""
    built: Embedder = build_adapter(room.get, text, params)
    return built


def rebuild(recipe: JsonObject, weights: str | None = None, device: str = "cpu") -> Embedder:
    """The embedder of a store's recipe, to embed what is asked of it; other weights than the recipe's are refused.

    `weights` names the file where the adapter does not bring its own (`Store.manifest.weights` is where it lay).
    """
    name = recipe.get("embedder")
    if not isinstance(name, str):
        raise SpecError(f"this recipe names no embedder ({shown(dict(recipe))})")
    found: type[Embedder] = room.get(name)
    settings: JsonDict = {
        k: tuple(v) if isinstance(v, list) else v for k, v in recipe.items() if k not in (*TOLD, "clips")
    }
    if unknown := sorted(set(settings) - set(found.defaults())):
        raise SpecError(f"the embedder {name} has no setting {unknown[0]!r}; the store was made by another version")
    built = found(weights=weights, device=device, **settings)
    if built.digests() != recipe.get("weights"):
        raise InputError(
            f"other weights than those the store of {name} was made with",
            file=weights or name,
            hint="name the same file (--weights), or index into another store",
        )
    return built
