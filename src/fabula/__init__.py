"""Fabula: scores, matches, trains and builds data for systems that tell the story of a video."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "FabulaError",
    "__version__",
    "compare",
    "match",
    "metric",
    "protocol",
    "read",
    "reward",
    "score",
    "uniform",
    "write",
]

# Names are loaded when they are first used: `import fabula` costs little more than Python itself.
_HOMES = {
    "FabulaError": "fabula.core.errors",
    "compare": "fabula.api.compare",
    "metric": "fabula.metrics",
    "protocol": "fabula.protocols",
    "read": "fabula.io",
    "reward": "fabula.api.reward",
    "score": "fabula.api.score",
    "uniform": "fabula.baselines.uniform",
    "write": "fabula.io",
}

if TYPE_CHECKING:
    from fabula import match
    from fabula.api.compare import compare
    from fabula.api.reward import reward
    from fabula.api.score import score
    from fabula.baselines.uniform import uniform
    from fabula.core.errors import FabulaError
    from fabula.io import read, write
    from fabula.metrics import metric
    from fabula.protocols import protocol


def __getattr__(name: str) -> Any:
    import importlib

    if name == "match":
        return importlib.import_module("fabula.match")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'fabula' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
