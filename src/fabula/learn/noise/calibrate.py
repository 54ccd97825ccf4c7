"""Scores into probabilities, and how far these can be trusted.

    none          p = σ(c)
    temperature   p = σ(c / T)                        (Guo et al., ICML 2017)
    platt         p = σ(a c + b)                      (Platt, 1999)

a, b minimise the mean log loss on captions that nothing else was learnt from, by Newton's method. Targets are Platt's,
(N₊ + 1)/(N₊ + 2) and 1/(N₋ + 2), so that both stay finite where scores part true from wrong completely.

    ECE = Σ_k n_k/N |mean p − share true|  over bins of p, each with as many captions
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fabula.core.errors import InputError, SpecError
from fabula.io.fields import Source
from fabula.io.files import check_path, load_json, write_text

Floats = NDArray[np.float64]
KINDS = ("none", "temperature", "platt")
BINS = 15
HINT = "fabula predict noise … --fit FILE makes one"


@dataclass(frozen=True, slots=True)
class Calibration:
    """p = σ(a c + b)."""

    kind: str = "none"
    a: float = 1.0
    b: float = 0.0
    captions: int = 0  # that it was fitted on
    weights: str = ""  # SHA-256 of the evaluator's weights

    def __call__(self, scores: ArrayLike) -> Floats:
        return sigmoid(self.a * np.asarray(scores, dtype=np.float64) + self.b)


class Bin(NamedTuple):
    """Captions of like probability."""

    probability: float  # mean
    true: float  # share
    captions: int


def sigmoid(x: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * x)))


def fit(scores: ArrayLike, true: ArrayLike, kind: str = "platt") -> Calibration:
    """The calibration of that kind on these captions."""
    c, y = np.asarray(scores, dtype=np.float64), np.asarray(true, dtype=bool)
    if kind not in KINDS:
        raise SpecError(f"no calibration is called {kind!r}; there are: {', '.join(KINDS)}")
    if not (np.isfinite(c).all() and y.any() and not y.all()):
        raise SpecError("a calibration needs true and wrong captions with finite scores")
    if kind == "none":
        return Calibration(captions=len(c))
    above, below = int(y.sum()), int((~y).sum())
    t = np.where(y, (above + 1) / (above + 2), 1 / (below + 2))
    X = np.stack([c, np.ones_like(c)] if kind == "platt" else [c], 1)  # [N, 2 or 1]
    w = np.zeros(X.shape[1])
    w[0] = 1.0
    for _ in range(100):
        p = sigmoid(X @ w)
        gradient = X.T @ (p - t)
        curvature = (X * (p * (1 - p))[:, None]).T @ X + 1e-9 * np.eye(len(w))
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while size > 1e-8 and loss(X @ (w - size * step), t) > loss(X @ w, t) + 1e-12:
            size /= 2  # Newton steps too far where p is near 0 or 1
        w = w - size * step
        if np.abs(size * step).max() < 1e-10:
            break
    return Calibration(kind, float(w[0]), float(w[1]) if len(w) > 1 else 0.0, len(c))


def loss(x: Floats, t: Floats) -> float:
    """−Σ t log σ(x) + (1 − t) log σ(−x)."""
    return float(np.sum(np.logaddexp(0, x) - t * x))


def cut_bins(p: ArrayLike, true: ArrayLike, bins: int = BINS) -> list[Bin]:
    """So many bins, each with as many captions, by their probability."""
    q, y = np.asarray(p, dtype=np.float64), np.asarray(true, dtype=np.float64)
    order = np.argsort(q, kind="stable")
    parts = [part for part in np.array_split(order, min(bins, len(order))) if len(part)]
    return [Bin(float(q[part].mean()), float(y[part].mean()), len(part)) for part in parts]


def ece(bins: Sequence[Bin]) -> float:
    """Expected calibration error."""
    n = sum(b.captions for b in bins)
    return math.fsum(b.captions * abs(b.probability - b.true) for b in bins) / max(1, n)


def write_calibration(path: Path, calibration: Calibration) -> None:
    write_text(path, [json.dumps(asdict(calibration), indent=2) + "\n"])


def read_calibration(path: Path, weights: str) -> Calibration:
    """A calibration of these weights; one of others is refused."""
    source = Source(check_path(path), noun="calibration")
    fields: dict[str, Any] = source.mapping(load_json(source.path), "the file", hint=HINT)
    numbers = {name: source.number(source.entry(fields, name), name) for name in ("a", "b", "captions")}
    if fields.get("kind") not in KINDS:
        raise InputError("no calibration", file=path, hint=HINT)
    if fields.get("weights") != weights:
        raise InputError("a calibration of another model", file=path, hint="fit one with this model: --fit FILE")
    return Calibration(str(fields["kind"]), numbers["a"], numbers["b"], int(numbers["captions"]), weights)
