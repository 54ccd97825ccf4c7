"""Adapters from their strings: NAME, NAME(setting=value), NAME:FILE; and the model that a recipe tells of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fabula.core import spec
from fabula.core.errors import InputError, SpecError, shown
from fabula.core.registry import Room, close_to
from fabula.media.people.base import RULES, Adapter, FaceModel, Look


def build(room: Room, text: str, params: Mapping[str, Any]) -> Any:
    """`scrfd(score=0.6):det.onnx` as a value."""
    call, colon, weights = text.partition(":")
    name, settings = spec.parse(call)
    if colon and not weights:
        raise SpecError(f"{text!r} names no file behind the colon")
    found = room.get(name)
    for field in params:
        if field not in found.defaults():
            raise SpecError(f"{found.name} has no parameter {field!r}; {close_to(field, list(found.defaults()))}")
    return found(**{**params, **({"weights": weights} if weights else {})}).with_params(settings)


def face_model(detector: str = "scrfd", embedder: str = "arcface", **look: Any) -> FaceModel:
    """From strings; keywords are those of `Look`: fps, shots, gap …"""
    from fabula.media.people.detectors import detector as parse_detector
    from fabula.media.people.embedders import embedder as parse_embedder

    return FaceModel(parse_detector(detector), parse_embedder(embedder), Look(**look))


def rebuild_faces(recipe: Mapping[str, Any], detector: str | None = None, embedder: str | None = None) -> FaceModel:
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
            problem = f"other weights than the recipe's (SHA-256 {shown(one.weights_digest())})"
            hint = f"it was {shown(recipe[part].get('weights'))}; name that file with --{part} {one.name}:FILE"
            raise InputError(problem, file=one.weights_file(), hint=hint)
    return model


def rebuild_adapter(room: Room, entry: Mapping[str, Any], weights: str | None) -> Any:
    found: type[Adapter] = room.get(str(entry.get("name")))
    settings = {k: v for k, v in entry.items() if k not in ("name", "weights")}
    return found(weights=weights, **check_settings(found, settings))


def check_settings(kind: type[spec.Spec], settings: Mapping[str, Any]) -> dict[str, Any]:
    if unknown := sorted(set(settings) - set(kind.defaults())):
        raise SpecError(f"{kind.name} has no setting {unknown[0]!r}; the store was made by another version")
    return dict(settings)
