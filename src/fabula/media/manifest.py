"""What a store says of itself, so that it can be made again: extractor, weights, licence, versions, every video.

recipe     what makes the features what they are (base.Extractor.recipe); training and prediction compare it
licence    of the weights
versions   of the packages that made it; the same recipe under other versions may differ in the last digits
durations  seconds by video
videos     by video: file name, SHA-256, pictures decoded, width and height
left_out   by video: why it was left out, where that was asked for
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib import metadata

from fabula import __version__
from fabula.core.errors import InputError, SpecError, shown
from fabula.documents.fields import JsonDict, JsonObject
from fabula.media.base import RULES, Extractor
from fabula.media.extractors import find_class

LAYOUT = 1  # of the manifest
TOLD = ("extractor", "dim", "weights", "rules")  # of a recipe, what is no setting of an extractor


def describe(
    extractor: Extractor,
    durations: Mapping[str, float],
    videos: Mapping[str, JsonObject],
    left_out: Mapping[str, str],
) -> JsonDict:
    """The manifest, as the metadata of a store."""
    file = extractor.weights_file()
    return {
        "manifest": LAYOUT,
        "recipe": extractor.recipe(),
        "spec": str(extractor),
        "licence": extractor.licence,
        "weights_file": None if file is None else file.name,
        "versions": list_versions(extractor.packages),
        "durations": dict(durations),
        "videos": {id: dict(about) for id, about in videos.items()},
        "left_out": dict(left_out),
    }


def list_versions(packages: tuple[str, ...]) -> dict[str, str]:
    """Of ourselves, of Python, of what decodes, and of what the extractor runs on."""
    found = {"fabula": __version__, "python": platform.python_version()}
    for name in ("numpy", "av", *packages):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def rebuild(recipe: JsonObject, weights: str | None = None, device: str = "cpu") -> Extractor:
    """The extractor of a recipe, to make features of another video as those of a store were made.

    `weights` names the file where the adapter does not bring its own; another file than the recipe's is refused.
    """
    if not isinstance(name := recipe.get("extractor"), str):
        raise SpecError(
            f"this recipe names no extractor ({shown(dict(recipe))}); features of videos cannot be made by it"
        )
    if recipe.get("rules") != RULES:
        raise SpecError(f"this recipe is of rules {shown(recipe.get('rules'))} for frames; this version has {RULES}")
    found = find_class(name)
    settings: JsonDict = {k: tuple(v) if isinstance(v, list) else v for k, v in recipe.items() if k not in TOLD}
    if unknown := sorted(set(settings) - set(found.defaults())):
        raise SpecError(f"the extractor {name} has no setting {unknown[0]!r}; it was made by another version")
    if found.needs_weights and weights is None:
        raise SpecError(f"the features were made by {name} with weights of the user; name the file (--weights)")
    built = found(weights=weights, device=device, **settings)
    if built.weights_digest() != recipe.get("weights"):
        raise InputError(
            f"other weights than the recipe's (SHA-256 {shown(built.weights_digest())})",
            file=built.weights_file(),
            hint=f"it was {shown(recipe.get('weights'))}",
        )
    return built
