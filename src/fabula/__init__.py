"""Fabula: scores, matches, trains and builds data for systems that tell the story of a video."""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = [
    "FabulaError",
    "__version__",
    "analyse",
    "baseline",
    "cite",
    "compare",
    "convert",
    "diagnose",
    "index",
    "lint",
    "match",
    "meta",
    "metric",
    "moments",
    "parse",
    "plot",
    "power",
    "predict",
    "protocol",
    "protocols",
    "read",
    "reward",
    "score",
    "search",
    "stress",
    "train",
    "uniform",
    "write",
]

# Names are loaded when they are first used: `import fabula` costs little more than Python itself.
_HOMES = {
    "FabulaError": "fabula.core.errors",
    "analyse": "fabula.api.analyse",
    "baseline": "fabula.api.baseline",
    "cite": "fabula.api.cite",
    "compare": "fabula.api.compare",
    "convert": "fabula.api.convert",
    "diagnose": "fabula.api.diagnose",
    "index": "fabula.api.index",
    "lint": "fabula.api.lint",
    "meta": "fabula.api.meta",
    "metric": "fabula.metrics",
    "moments": "fabula.learn.retrieval.moments",
    "parse": "fabula.api.parse",
    "plot": "fabula.api.plot",
    "power": "fabula.api.power",
    "predict": "fabula.api.predict",
    "protocol": "fabula.benchmarks",
    "protocols": "fabula.api.protocols",
    "read": "fabula.io",
    "reward": "fabula.evaluate.rewards",
    "score": "fabula.api.score",
    "search": "fabula.api.search",
    "stress": "fabula.api.stress",
    "train": "fabula.api.train",
    "uniform": "fabula.evaluate.baselines.uniform",
    "write": "fabula.io",
}

if TYPE_CHECKING:
    from fabula import match
    from fabula.api.analyse import analyse
    from fabula.api.baseline import baseline
    from fabula.api.cite import cite
    from fabula.api.compare import compare
    from fabula.api.convert import convert
    from fabula.api.diagnose import diagnose
    from fabula.api.index import index
    from fabula.api.lint import lint
    from fabula.api.meta import meta
    from fabula.api.parse import parse
    from fabula.api.plot import plot
    from fabula.api.power import power
    from fabula.api.predict import predict
    from fabula.api.protocols import protocols
    from fabula.api.score import score
    from fabula.api.search import search
    from fabula.api.stress import stress
    from fabula.api.train import train
    from fabula.benchmarks import protocol
    from fabula.core.errors import FabulaError
    from fabula.evaluate.baselines.uniform import uniform
    from fabula.evaluate.rewards import reward
    from fabula.io import read, write
    from fabula.learn.retrieval.moments import moments
    from fabula.metrics import metric
else:  # hidden from type checkers, for which every name would be there

    def __getattr__(name):
        import importlib

        if name == "match":
            return importlib.import_module("fabula.match")
        if name in _HOMES:
            return getattr(importlib.import_module(_HOMES[name]), name)
        raise AttributeError(f"module 'fabula' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
