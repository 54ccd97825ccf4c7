"""Adapters from their strings: NAME, NAME(setting=value), NAME:FILE; and the model that a recipe tells of."""

from __future__ import annotations

from typing import Any

from fabula.core import spec
from fabula.core.errors import InputError, SpecError, shown
from fabula.core.registry import Room
from fabula.documents.fields import JsonDict, JsonObject
from fabula.media.people.base import RULES, Adapter, FaceModel, Look


def face_model(detector: str = "scrfd", embedder: str = "arcface", **look: Any) -> FaceModel:
    """From strings; keywords are those of `Look`: fps, shots, gap …"""
    from fabula.media.people.detectors import detector as parse_detector
    from fabula.media.people.embedders import embedder as parse_embedder

    return FaceModel(parse_detector(detector), parse_embedder(embedder), Look(**look))


def rebuild_faces(recipe: JsonObject, detector: str | None = None, embedder: str | None = None) -> FaceModel:
    """The model of a recipe, to find faces in another video as those of a store were found.

    `detector` and `embedder` name the files where they were the user's; other files than the recipe's are refused.
    """
    if recipe.get("extractor") != "people" or not all(
        isinstance(recipe.get(k), dict) for k in ("detector", "embedder", "look")
    ):
        raise SpecError(f"this recipe is not one of people ({shown(dict(recipe))}); faces cannot be found by it")
    if recipe.get("rules") != RULES:
        raise SpecError(f"this recipe is of rules {shown(recipe.get('rules'))} for faces; this version has {RULES}")
    from fabula.media.people.detectors import room as detectors
    from fabula.media.people.embedders import room as embedders

    model = FaceModel(
        rebuild_adapter(detectors, recipe["detector"], detector),
        rebuild_adapter(embedders, recipe["embedder"], embedder),
        Look(**check_settings(Look, recipe["look"])),
    )
    for one, part in ((model.detector, "detector"), (model.embedder, "embedder")):
        if one.weights_digest() != recipe[part].get("weights"):
            raise InputError(
                f"other weights than the recipe's (SHA-256 {shown(one.weights_digest())})",
                file=one.weights_file(),
                hint=f"it was {shown(recipe[part].get('weights'))}; name that file with --{part} {one.name}:FILE",
            )
    return model


def rebuild_adapter(room: Room, entry: JsonObject, weights: str | None) -> Any:
    found: type[Adapter] = room.get(str(entry.get("name")))
    settings = {k: v for k, v in entry.items() if k not in ("name", "weights")}
    return found(weights=weights, **check_settings(found, settings))


def check_settings(kind: type[spec.Spec], settings: JsonObject) -> JsonDict:
    if unknown := sorted(set(settings) - set(kind.defaults())):
        raise SpecError(f"{kind.name} has no setting {unknown[0]!r}; the store was made by another version")
    return dict(settings)
