"""The noise evaluator's confidence c of a caption as the probability that the caption is true.

    none          p = σ(c)
    temperature   p = σ(c / T)                        (Guo et al., ICML 2017)
    platt         p = σ(a c + b)                      (Platt, 1999)

Fit a, b on captions that nothing else was learnt from. How they are fitted, and what ECE is: stats/calibration.py.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from fabula.core.errors import InputError, SpecError
from fabula.documents.document import open_document
from fabula.documents.fields import Source
from fabula.documents.files import write_text
from fabula.stats.calibration import Binning, Floats, fit_platt, sigmoid

KINDS = ("none", "temperature", "platt")
BINNING = Binning(15, "mass")  # of every ECE of this task
HINT = "fabula predict noise … --fit FILE writes one"


@dataclass(frozen=True, slots=True)
class CaptionCalibration:
    """p = σ(a c + b)."""

    kind: str = "none"
    a: float = 1.0
    b: float = 0.0
    captions: int = 0  # that it was fitted on
    weights: str = ""  # SHA-256 of the evaluator's weights

    def __call__(self, scores: ArrayLike) -> Floats:
        return sigmoid(self.a * np.asarray(scores, dtype=np.float64) + self.b)


def fit(scores: ArrayLike, true: ArrayLike, kind: str = "platt") -> CaptionCalibration:
    """The calibration of that kind on these captions."""
    c, y = np.asarray(scores, dtype=np.float64), np.asarray(true, dtype=bool)
    if kind not in KINDS:
        raise SpecError(f"no calibration is called {kind!r}; there are: {', '.join(KINDS)}")
    if not (np.isfinite(c).all() and y.any() and not y.all()):
        raise SpecError("a calibration needs true and wrong captions with finite scores")
    if kind == "none":
        return CaptionCalibration(captions=len(c))
    a, b = fit_platt(c[:, None], y, intercept=kind == "platt")
    return CaptionCalibration(kind, a, b, len(c))


def write_calibration(path: Path, calibration: CaptionCalibration) -> None:
    write_text(path, [json.dumps(asdict(calibration), indent=2) + "\n"])


def read_calibration(path: Path, weights: str) -> CaptionCalibration:
    """A calibration of these weights; one of others is refused."""
    source = Source(open_document(path), noun="calibration")
    entry = source.mapping(source.document.tree(), "the file", hint=HINT)
    numbers = {name: source.number(source.entry(entry, name), name) for name in ("a", "b", "captions")}
    if entry.get("kind") not in KINDS:
        raise InputError("no calibration", file=path, hint=HINT)
    if entry.get("weights") != weights:
        raise InputError("a calibration of another model", file=path, hint="fit one with this model: --fit FILE")
    return CaptionCalibration(str(entry["kind"]), numbers["a"], numbers["b"], int(numbers["captions"]), weights)
