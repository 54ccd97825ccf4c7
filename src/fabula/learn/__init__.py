"""Training: matchers, losses, models, data and one loop. Only this folder imports torch; no evaluation imports it.

Names are loaded when they are first used; without torch that first use says which extra to install.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from fabula.core.errors import MissingExtra

__all__ = [
    "HungarianMatcher",
    "MarginalMatcher",
    "Matching",
    "OrderedMatcher",
    "SoftOrderedMatcher",
    "expected_alignment",
    "marginal_ordered",
    "soft_ordered",
]

_HOMES = {
    "HungarianMatcher": "fabula.learn.matchers",
    "MarginalMatcher": "fabula.learn.matchers",
    "Matching": "fabula.learn.matchers",
    "OrderedMatcher": "fabula.learn.matchers",
    "SoftOrderedMatcher": "fabula.learn.matchers",
    "expected_alignment": "fabula.learn.matchers",
    "marginal_ordered": "fabula.learn.matchers",
    "soft_ordered": "fabula.learn.matchers",
}

if TYPE_CHECKING:
    from fabula.learn.matchers import (
        HungarianMatcher,
        MarginalMatcher,
        Matching,
        OrderedMatcher,
        SoftOrderedMatcher,
        expected_alignment,
        marginal_ordered,
        soft_ordered,
    )


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fabula.learn' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] == "torch":
            raise MissingExtra("fabula.learn", "learn") from None
        raise


def __dir__() -> list[str]:
    return __all__


def need_learn() -> None:
    """Refuse to go on without the packages of the extra."""
    if not all(importlib.util.find_spec(module) for module in ("torch", "lightning_fabric", "safetensors")):
        raise MissingExtra("training and predicting", "learn")
