"""What a store says of itself: its version, the recipe of its vectors, the root of its videos, which tables hold them.

    {"fabula-store": 1, "recipe": {…, "dims": 384}, "root": "/films", "weights": null | "/models/clip.safetensors",
     "tables": {"clips": "clips", "videos": "videos"}, "next": null | the same of a re-embedding under way}

In a folder it is manifest.json, written whole; at an address of an object store a table of one row, which Lance
replaces as one commit. Two stores with equal recipes can stand for each other; all else may differ.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from fabula.core.errors import InputError, shown
from fabula.documents.fields import JsonDict, JsonObject
from fabula.documents.files import dump_json, load_json

FILE = "manifest.json"
TABLE = "manifest"  # where there are no files
VERSION = 1
KEY = "fabula-store"
LONGEST = 1 << 20  # bytes
NAMED = 4  # differences that are named
MOST_DIMS = 1 << 16  # of a vector
OTHER = "name another store, or say --reembed to make all its vectors anew"


@dataclass(frozen=True)
class Manifest:
    """One generation of a store, and the next one while it is being made."""

    recipe: JsonDict
    root: str  # folder that the videos' names are relative to
    weights: str | None = None  # where the embedder's file lay; no part of the recipe, which has its hash
    tables: dict[str, str] = field(default_factory=lambda: {"clips": "clips", "videos": "videos"})
    next: JsonDict | None = None  # recipe, weights and tables of a re-embedding under way

    @property
    def dims(self) -> int:
        return int(self.recipe["dims"])

    def document(self) -> JsonDict:
        return {KEY: VERSION, **asdict(self)}

    def begun(self) -> Manifest | None:
        """The generation that is being made, as it will stand; None where there is none."""
        return None if self.next is None else replace(self, **self.next, next=None)


def parse(document: object, where: object) -> Manifest:
    """The manifest of a document; what is no store, or of another version, is refused."""
    if not isinstance(document, dict) or KEY not in document:
        raise InputError("is no store of clips", file=where, hint="name a folder that fabula index made")
    if (version := document[KEY]) != VERSION:
        raise InputError(
            f"a store of version {shown(version)}; this fabula reads version {VERSION}",
            file=where,
            hint="use the fabula that made it, or index into another store",
        )
    try:
        manifest = Manifest(**{k: v for k, v in document.items() if k != KEY})
        fits = manifest.next is None or manifest.next.keys() == {"recipe", "weights", "tables"}
        fits = fits and all(is_whole(one) for one in (manifest, manifest.begun()) if one is not None)
    except (TypeError, KeyError, ValueError, AttributeError):
        fits = False
    if not fits:
        raise InputError(
            "its manifest is damaged",
            file=where,
            hint="index into another store, or bring the manifest back from a copy",
        )
    return manifest


def is_whole(one: Manifest) -> bool:
    """Whether all of a generation is what it should be."""
    dims = one.recipe["dims"]
    names = [one.root, *one.tables.keys(), *one.tables.values(), *(() if one.weights is None else (one.weights,))]
    fits = isinstance(dims, int) and 0 < dims <= MOST_DIMS and {"clips", "videos"} <= one.tables.keys()
    return isinstance(one.recipe, dict) and fits and all(isinstance(name, str) for name in names)


def read_file(folder: Path) -> Manifest:
    path = folder / FILE
    if not path.is_file():
        raise InputError(
            "no such store" if not folder.exists() else "is no store of clips (it has no manifest.json)",
            file=folder,
            hint="fabula index VIDEOS --store DIR makes one",
        )
    if path.stat().st_size > LONGEST:
        raise InputError("is too long for a manifest", file=path, hint="is this a store of clips?")
    return parse(load_json(path), folder)


def write_file(folder: Path, manifest: Manifest) -> None:
    dump_json(folder / FILE, manifest.document(), indent=2)


def check_recipe(there: JsonObject, wanted: JsonObject, where: object) -> None:
    """Refuse vectors of another making among those that are there."""
    there, wanted = (flatten(json.loads(json.dumps(dict(one)))) for one in (there, wanted))
    other = sorted(k for k in {*there, *wanted} if there.get(k) != wanted.get(k))
    if not other:
        return
    names = [str(one.get("embedder")) for one in (there, wanted)]
    if names[0] != names[1]:
        raise InputError(f"a store of the embedder {names[0]}, not of {names[1]}", file=where, hint=OTHER)
    differences = [f"{k} ({brief(there.get(k))} there, {brief(wanted.get(k))} asked)" for k in other[:NAMED]]
    more = f" and {len(other) - NAMED} more" if len(other) > NAMED else ""
    raise InputError(
        f"a store of {names[0]} with another recipe: {', '.join(differences)}{more}", file=where, hint=OTHER
    )


def flatten(recipe: JsonObject) -> JsonDict:
    """What is nested, under both names: `clips fps`."""
    flat: JsonDict = {}
    for name, value in recipe.items():
        flat |= {f"{name} {inner}": v for inner, v in value.items()} if isinstance(value, dict) else {name: value}
    return flat


def brief(value: object) -> str:
    """A value of a recipe; of a hash its first digits."""
    return f"{value[:8]}…" if isinstance(value, str) and len(value) == 64 else shown(value, 24)
