"""Fabula: scores, matches, trains and builds data for systems that tell the story of a video."""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = [
    "FabulaError",
    "__version__",
    "analyse",
    "ask",
    "ask_grid",
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
    "read_signs",
    "reward",
    "score",
    "search",
    "stress",
    "tell",
    "train",
    "transcribe",
    "uniform",
    "write",
]

# Names are loaded when they are first used: `import fabula` costs little more than Python itself.
_HOMES = {
    "FabulaError": "fabula.core.errors",
    "analyse": "fabula.verbs.training.analyse",
    "ask": "fabula.verbs.building.ask",
    "ask_grid": "fabula.verbs.building.ask",
    "baseline": "fabula.verbs.scoring.baseline",
    "cite": "fabula.verbs.scoring.cite",
    "compare": "fabula.verbs.scoring.compare",
    "convert": "fabula.verbs.building.convert",
    "diagnose": "fabula.verbs.trust.diagnose",
    "index": "fabula.verbs.searching.index",
    "lint": "fabula.verbs.trust.lint",
    "meta": "fabula.verbs.trust.meta",
    "metric": "fabula.metrics",
    "moments": "fabula.learn.retrieval.moments",
    "parse": "fabula.verbs.building.parse",
    "plot": "fabula.verbs.scoring.plot",
    "power": "fabula.verbs.trust.power",
    "predict": "fabula.verbs.training.predict",
    "protocol": "fabula.benchmarks",
    "protocols": "fabula.verbs.scoring.protocols",
    "read": "fabula.io",
    "read_signs": "fabula.verbs.building.read_signs",
    "reward": "fabula.evaluate.rewards",
    "score": "fabula.verbs.scoring.score",
    "search": "fabula.verbs.searching.search",
    "stress": "fabula.verbs.trust.stress",
    "tell": "fabula.verbs.building.tell",
    "train": "fabula.verbs.training.train",
    "transcribe": "fabula.verbs.building.transcribe",
    "uniform": "fabula.evaluate.baselines.uniform",
    "write": "fabula.io",
}

if TYPE_CHECKING:
    from fabula import match
    from fabula.benchmarks import protocol
    from fabula.core.errors import FabulaError
    from fabula.evaluate.baselines.uniform import uniform
    from fabula.evaluate.rewards import reward
    from fabula.io import read, write
    from fabula.learn.retrieval.moments import moments
    from fabula.metrics import metric
    from fabula.verbs.building.ask import ask, ask_grid
    from fabula.verbs.building.convert import convert
    from fabula.verbs.building.parse import parse
    from fabula.verbs.building.read_signs import read_signs
    from fabula.verbs.building.tell import tell
    from fabula.verbs.building.transcribe import transcribe
    from fabula.verbs.scoring.baseline import baseline
    from fabula.verbs.scoring.cite import cite
    from fabula.verbs.scoring.compare import compare
    from fabula.verbs.scoring.plot import plot
    from fabula.verbs.scoring.protocols import protocols
    from fabula.verbs.scoring.score import score
    from fabula.verbs.searching.index import index
    from fabula.verbs.searching.search import search
    from fabula.verbs.training.analyse import analyse
    from fabula.verbs.training.predict import predict
    from fabula.verbs.training.train import train
    from fabula.verbs.trust.diagnose import diagnose
    from fabula.verbs.trust.lint import lint
    from fabula.verbs.trust.meta import meta
    from fabula.verbs.trust.power import power
    from fabula.verbs.trust.stress import stress
else:  # hidden from type checkers, for which every name would be there

    def __getattr__(name):
        import importlib

        if name == "match":
            return importlib.import_module("fabula.match")
        if name in _HOMES:
            globals()[name] = found = getattr(importlib.import_module(_HOMES[name]), name)  # looked up once
            return found
        raise AttributeError(f"module 'fabula' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
